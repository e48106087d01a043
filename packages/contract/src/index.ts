export type { api } from './api/index.ts'
export type { AnswerOf, ApiOperation, RequestOf } from './api/operation.ts'
export { apiPaths } from './api/paths.ts'
export * from './defaults.ts'
export * from './errors.ts'
export * from './fire-rows.ts'
export * from './job.ts'
export * from './json-text.ts'
export * from './leased.ts'
export * from './near.ts'
export * from './options.ts'
export * from './quotas.ts'
export * from './ranges.ts'
export * from './recurrence.ts'
// Types only: the schemas themselves, and TypeBox with them, come from `@carillon/contract/api`.
export type { AuditEntry } from './schemas/audit.ts'
export type {
  Dag,
  DagInput,
  DagRun,
  DagRunStep,
  DagRunSummary,
  DagStep,
  InlineRunInput,
  RunInput,
  SignalInput,
  StartedRun,
} from './schemas/dag.ts'
export type { Event, EventDetail, EventReset } from './schemas/event.ts'
export type {
  Execution,
  ExecutionFilter,
  Explanation,
  LogEvent,
  LogLine,
  LogLines,
  TimelineEntry,
} from './schemas/execution.ts'
export type { DeadLetterGroups, JobFailures } from './schemas/failures.ts'
export type { Fires, PreviewInput } from './schemas/fires.ts'
export type { Forecast } from './schemas/forecast.ts'
export type { Job, JobPatch, WireJobInput } from './schemas/job.ts'
export type { JobVersion } from './schemas/job-version.ts'
export type { Limit, LimitDetail, LimitInput, LimitUsage } from './schemas/limit.ts'
export type { BackfillInput, BulkInput, CopyInput, DryRun, Operation } from './schemas/operation.ts'
export type { Load, Pool, PoolScaling } from './schemas/pool.ts'
export type { Problem } from './schemas/problem.ts'
export type { DeadLetterMessage, PublishedGap } from './schemas/published.ts'
export type { QuarantinedRow } from './schemas/quarantine.ts'
export type { ReadyMessage } from './schemas/ready-message.ts'
export type { Spread, Stats, StatsBucket, StatsFigures } from './schemas/stats.ts'
export type { Tenant, TenantInput } from './schemas/tenant.ts'
export type { TenantUsage, Usage, UsageDay, UsageFigures } from './schemas/usage.ts'
export type { Finding, Verification, Verified } from './schemas/verification.ts'
export type {
  Cancellation,
  CompletionInput,
  HeldExecution,
  LeaseAnswer,
  LeasedExecution,
  LeasedStep,
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
export * from './verify-all.ts'
export * from './words.ts'
