import { listAudit } from './audit.ts'
import { docs, docsScript } from './docs.ts'
import { healthz, readyz } from './health.ts'
import { metrics } from './metrics.ts'
import { listNodes } from './nodes.ts'
import { openapi } from './openapi.ts'
import { cancelOperation, getOperation } from './operations.ts'
import { getStats } from './stats.ts'
import { getVerified, verify } from './verify.ts'

export const systemRoutes = {
  getOperation,
  cancelOperation,
  listAudit,
  listNodes,
  verify,
  getVerified,
  getStats,
  docs,
  docsScript,
  healthz,
  readyz,
  metrics,
  openapi,
}
