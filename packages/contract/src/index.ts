export type { api } from './api/index.ts'
export type { AnswerOf, ApiOperation, RequestOf } from './api/operation.ts'
export { apiPaths } from './api/paths.ts'
export type { AuditEntry } from './api/system.ts'
export * from './defaults.ts'
export * from './errors.ts'
export * from './job.ts'
export * from './json-text.ts'
export * from './leased.ts'
export * from './near.ts'
export * from './options.ts'
export * from './ranges.ts'
export * from './recurrence.ts'
// Types only: the schemas themselves, and TypeBox with them, come from `@carillon/contract/api`.
export type { Event, EventDetail, EventReset } from './schemas/event.ts'
export type { Execution, ExecutionFilter, Explanation, TimelineEntry } from './schemas/execution.ts'
export type { Fires, PreviewInput } from './schemas/fires.ts'
export type { Job, JobPatch, WireJobInput } from './schemas/job.ts'
export type { BackfillInput, BulkInput, DryRun, Operation } from './schemas/operation.ts'
export type { Pool, PoolScaling } from './schemas/pool.ts'
export type { Problem } from './schemas/problem.ts'
export type { QuarantinedRow } from './schemas/quarantine.ts'
export type { Finding, Verification } from './schemas/verification.ts'
export type {
  Cancellation,
  CompletionInput,
  HeldExecution,
  LeaseAnswer,
  LeasedExecution,
  LeaseInput,
  OutcomeInput,
  PoolRegistration,
  RegistrationAnswer,
  ReportAnswer,
  ReportedError,
  ReportInput,
  ReportVerdict,
  Worker as WorkerRecord,
  WorkerRegistration,
} from './schemas/worker.ts'
export * from './timed.ts'
export * from './words.ts'
