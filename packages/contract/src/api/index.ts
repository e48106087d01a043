import { answerOperations } from './answers.ts'
import { checkOperations } from './check-jobs.ts'
import { dagOperations } from './dags.ts'
import { eventOperations } from './events.ts'
import { executionOperations } from './executions.ts'
import { jobOperations } from './jobs.ts'
import { limitOperations } from './limits.ts'
import { quarantineOperations } from './quarantine.ts'
import { systemOperations } from './system.ts'
import { tenantOperations } from './tenants.ts'
import { tokenOperations } from './tokens.ts'
import { workerOperations } from './workers.ts'

/** Every operation, by its id. */
export const api = {
  ...jobOperations,
  ...checkOperations,
  ...executionOperations,
  ...dagOperations,
  ...workerOperations,
  ...limitOperations,
  ...tenantOperations,
  ...eventOperations,
  ...quarantineOperations,
  ...systemOperations,
  ...tokenOperations,
  ...answerOperations,
}
export type OperationId = keyof typeof api

export * from '../schemas/index.ts'
export type { Links } from './links.ts'
export { openApiDocument } from './openapi.ts'
export type { Answer, AnswerOf, ApiOperation, RequestOf } from './operation.ts'
