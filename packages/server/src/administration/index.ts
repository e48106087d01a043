/** For programs that administer an installation: they connect to its database and start no node. */
import '../node-version.ts'

import '../lib/temporal.ts'

export { type ClockChangeView, type Fires, type FireView, type PreviewInput, previewFires } from '../jobs/preview.ts'
export { type ApiKey, type ApiKeyInput, createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts'
export { auditRetention, keepAudit } from './audit.ts'
export { checkDag } from './check-dag.ts'
export { checkJob } from './check-job.ts'
export { checkLimit } from './check-limit.ts'
export { type DatabasePlace, type ReachedDatabase, reachDatabase } from './connection.ts'
export { examine } from './doctor.ts'
export type { Finding, FindingStatus } from './findings.ts'
export { createRoles, type Migrated, migrateDatabase, rolesSql, schemaSql } from './migrate.ts'
export { endSubscription, listSubscriptions, type Subscription } from './subscriptions.ts'
