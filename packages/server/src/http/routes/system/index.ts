import { listAudit } from './audit.ts'
import { docs, docsScript } from './docs.ts'
import { healthz, readyz } from './health.ts'
import { metrics } from './metrics.ts'
import { openapi } from './openapi.ts'
import { cancelOperation, getOperation } from './operations.ts'
import { verify } from './verify.ts'

export const systemRoutes = {
  getOperation,
  cancelOperation,
  listAudit,
  verify,
  docs,
  docsScript,
  healthz,
  readyz,
  metrics,
  openapi,
}
