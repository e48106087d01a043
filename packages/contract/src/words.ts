/** The words of Carillon, the same in SQL, TypeScript, HTTP and docs. */

export const priorities = ['CRITICAL', 'HIGH', 'NORMAL', 'LOW'] as const
export type Priority = (typeof priorities)[number]

export const jobTypes = ['ONE_SHOT', 'DELAYED', 'CRON', 'INTERVAL', 'AFTER'] as const
export type JobType = (typeof jobTypes)[number]

/** What says when a job of the type fires. A ONE_SHOT without it runs now. */
export const timeFields = {
  ONE_SHOT: 'runAt',
  DELAYED: 'delayMs',
  CRON: 'schedule',
  INTERVAL: 'interval',
  AFTER: 'after',
} as const

/** Fields that belong to one type only. */
export const fieldsOfType: Readonly<Record<JobType, readonly string[]>> = {
  ONE_SHOT: ['runAt'],
  DELAYED: ['delayMs'],
  CRON: ['schedule', 'dayFields'],
  INTERVAL: ['interval', 'anchor'],
  AFTER: ['after'],
}

/** How an execution has to end for a job of type AFTER to follow it. FAILED: DEAD or CANCELLED. */
export const followedEnds = ['SUCCEEDED', 'FAILED', 'ENDED'] as const
export type FollowedEnd = (typeof followedEnds)[number]

/** What a limit counts by. */
export const limitScopes = ['KEY', 'JOB', 'HANDLER', 'POOL', 'TENANT'] as const
export type LimitScope = (typeof limitScopes)[number]

export const jobStates = ['ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED'] as const
export type JobState = (typeof jobStates)[number]

export const origins = ['SCHEDULE', 'TRIGGER', 'BACKFILL', 'SUBMIT', 'DAG'] as const
export type Origin = (typeof origins)[number]

export const dagStates = ['ACTIVE', 'DELETED'] as const
export type DagState = (typeof dagStates)[number]

export const dagRunStates = ['RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type DagRunState = (typeof dagRunStates)[number]

/** How a step has ended that did not succeed. */
export const failedStepStates = ['DEAD', 'CANCELLED', 'SKIPPED'] as const
export type FailedStepState = (typeof failedStepStates)[number]

/** Whether a step runs, by how the steps it depends on have ended. */
export const runConditions = ['ALL_SUCCEEDED', 'ALL_DONE', 'ANY_FAILED'] as const
export type RunCondition = (typeof runConditions)[number]

/** What a step waits for instead of running a target. */
export const awaited = ['SIGNAL'] as const
export type Awaited = (typeof awaited)[number]

export const overlapPolicies = ['ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE'] as const
export type OverlapPolicy = (typeof overlapPolicies)[number]

/** Where a job has its jitter from. */
export const jitterSources = ['JOB', 'TENANT'] as const
export const misfirePolicies = ['FIRE_ONCE', 'FIRE_ALL', 'SKIP'] as const
export type MisfirePolicy = (typeof misfirePolicies)[number]

export const deliveries = ['AT_LEAST_ONCE', 'AT_MOST_ONCE'] as const
export type Delivery = (typeof deliveries)[number]

export const backoffs = ['EXPONENTIAL', 'LINEAR', 'FIXED'] as const
export type BackoffPolicy = (typeof backoffs)[number]

export const executionStates = [
  'BLOCKED',
  'PENDING',
  'RUNNING',
  'FAILED',
  'TIMED_OUT',
  'WORKER_LOST',
  'SUCCEEDED',
  'DEAD',
  'CANCELLED',
  'SKIPPED',
] as const
export type ExecutionState = (typeof executionStates)[number]

/** What became of a request to cancel an execution. CANCELLING: it runs and was told to stop. */
export const cancelOutcomes = ['CANCELLED', 'CANCELLING', 'ENDED'] as const
export type CancelOutcome = (typeof cancelOutcomes)[number]

/** Until when a submission with the same dedupe key is a duplicate. */
export const dedupeStates = ['PENDING', 'UNFINISHED'] as const
export type DedupeState = (typeof dedupeStates)[number]

export const dedupeActions = ['KEEP', 'REPLACE', 'DEBOUNCE'] as const
export type DedupeAction = (typeof dedupeActions)[number]

/** The verdict on a submission with a dedupe key. */
export const dedupeVerdicts = ['NEW', 'KEPT', 'REPLACED', 'DEBOUNCED'] as const
export type DedupeVerdict = (typeof dedupeVerdicts)[number]

export const httpMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type HttpMethod = (typeof httpMethods)[number]

/** AWS's own words. */
export const invocationTypes = ['RequestResponse', 'Event'] as const
export type InvocationType = (typeof invocationTypes)[number]

/** What a token allows. */
export const scopes = ['jobs:read', 'jobs:write', 'work', 'admin', 'metrics:read'] as const
export type Scope = (typeof scopes)[number]

export const operationKinds = ['CANCEL', 'RETRY', 'PURGE', 'BACKFILL', 'COPY'] as const
export type OperationKind = (typeof operationKinds)[number]

export const operationStates = ['RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type OperationState = (typeof operationStates)[number]

/** Tables whose rows can be quarantined. */
export const quarantineSources = [
  'schedules',
  'submissions',
  'retries',
  'ready',
  'leases',
  'waiting',
  'deadlines',
  'operations',
  'events',
] as const
export type QuarantineSource = (typeof quarantineSources)[number]

/** Types of events. */
export const eventTypes = [
  'job.created',
  'job.updated',
  'job.paused',
  'job.resumed',
  'job.deleted',
  'job.completed',
  'execution.fired',
  'execution.started',
  'execution.progress',
  'execution.succeeded',
  'execution.failed',
  'execution.retrying',
  'execution.dead',
  'execution.cancelled',
  'execution.skipped',
  'dag_run.started',
  'dag_run.succeeded',
  'dag_run.failed',
  'dag_run.cancelled',
] as const
export type EventType = (typeof eventTypes)[number]

/** What a listener may ask for: a type, or all that begin alike. */
export const eventFilters = [...eventTypes, 'job.*', 'execution.*', 'dag_run.*'] as const
export type EventTypeFilter = (typeof eventFilters)[number]

/** What `verify` finds, by kind, each with its reasons. */
export const findings = {
  /** Something that should be in the ledger is not. */
  MISSED: ['NO_ROW', 'OVERDUE', 'NO_SCHEDULE'],
  /** A row that is one too many. */
  DOUBLED: ['WRONG_ID', 'NOT_SCHEDULED', 'PAUSED', 'SAME_FENCE'],
  /** An execution that should have ended, or moved on, and has not. */
  STUCK: [
    'NO_HOLDER',
    'ATTEMPT_OVERDUE',
    'WORKER_LOST',
    'RETRY_OVERDUE',
    'START_OVERDUE',
    'DEADLINE_PASSED',
    'WAITS_FOR_NOTHING',
    'NOT_FIRED',
  ],
  /** A row that cannot be true. */
  WRONG: [
    'SKIP_REASON',
    'SKIP_COUNT',
    'SKIP_COVERS_RUN',
    'STATE',
    'TIMES',
    'ATTEMPTS',
    'VERSION',
    'ROW_GONE',
    'JOB_GONE',
  ],
} as const

export type FindingKind = keyof typeof findings
export const findingKinds = Object.keys(findings) as FindingKind[]

export type FindingReason = (typeof findings)[FindingKind][number]
export const findingReasons: FindingReason[] = Object.values(findings).flat()

export const workerStates = ['LIVE', 'SUSPECT'] as const
export type WorkerState = (typeof workerStates)[number]

export const isolations = ['NONE', 'THREAD', 'PROCESS'] as const
export type Isolation = (typeof isolations)[number]

export const dstGaps = ['SHIFT', 'SKIP'] as const
export const dstOverlaps = ['FIRST', 'SECOND', 'BOTH'] as const

/** What an occurrence does in an hour that does not exist (`gap`) or exists twice (`overlap`). */
export interface DstPolicy {
  gap: (typeof dstGaps)[number]
  overlap: (typeof dstOverlaps)[number]
}

/**
 * What a change of the clock does to times that a schedule names: moved out of a gap, moved onto a time that fires anyway, not
 * run at all; run at the first, at the second, or at both passes of an hour that comes twice.
 */
export const clockChangeEffects = ['SHIFTED', 'MERGED', 'SKIPPED', 'FIRST', 'SECOND', 'BOTH'] as const
export type ClockChangeEffect = (typeof clockChangeEffects)[number]

/** A cron with both day fields restricted: EITHER of them is enough, or BOTH must match. */
export const dayFieldPolicies = ['EITHER', 'BOTH'] as const
export type DayFields = (typeof dayFieldPolicies)[number]

export interface RetryPolicy {
  /** Tries in all; the first one counts. */
  maxAttempts: number
  backoff: BackoffPolicy
  initialDelayMs: number
  factor: number
  maxDelayMs: number
  /** Share of the delay, 0 to 1, of which a random part is added. */
  jitter: number
  /** Explicit delays, used instead of `backoff`; the last one repeats. */
  delaysMs?: number[]
  /** Names of errors that end the execution at once. */
  nonRetryableErrors?: string[]
}

/** Of the messages in topics of ready executions; raised when readers of the version before could not understand them. */
export const readyMessageVersion = 1
