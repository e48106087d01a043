import { healthz, readyz } from './health.ts'
import { openapi } from './openapi.ts'

export const systemRoutes = { healthz, readyz, openapi }
