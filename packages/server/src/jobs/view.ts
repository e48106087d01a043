/** A job as people and programs see it: everything that holds for it, defaults filled in. */
import type {
  DayFields,
  Delivery,
  DstPolicy,
  JobState,
  JobType,
  MisfirePolicy,
  OverlapPolicy,
  Priority,
  RetryPolicy,
} from '@carillon/contract'
import type { ExecutionState } from '../domain/execution-state.ts'
import { isoTime } from '../lib/iso-time.ts'
import type { Database } from '../store/database.ts'
import { type LatestExecution, readLatest } from '../store/jobs/latest.ts'
import { type JobRecord, millis, policyOf, priorityOf } from '../store/rows.ts'
import { type Target, targetOf } from './target.ts'

export interface JobView<Time = Date> {
  jobId: string
  key: string | null
  name: string
  tenant: string
  managedBy: string | null
  labels: Record<string, string>
  state: JobState
  /** Grows with every change of the definition. */
  version: number
  type: JobType
  /** The cron expression of type CRON. */
  schedule: string | null
  /** The duration of type INTERVAL. */
  interval: string | null
  anchor: Time | null
  runAt: Time | null
  /** `runAt` as it was asked for, if that was a time on the clock of `timezone`. */
  runAtLocal: string | null
  delayMs: number | null
  timezone: string
  dst: DstPolicy
  /** How the two day fields of a cron combine if both are restricted. */
  dayFields: DayFields
  startAt: Time | null
  endAt: Time | null
  maxFires: number | null
  jitterSec: number
  misfire: MisfirePolicy
  misfireAfterSec: number
  maxCatchUp: number
  graceSec: number | null
  overlap: OverlapPolicy
  pauseAfterFailures: number | null
  priority: Priority
  retryPolicy: RetryPolicy
  timeoutSec: number
  deadlineSec: number | null
  heartbeatTimeoutSec: number | null
  startWithinSec: number | null
  cancelGraceSec: number
  unknownHandlerSec: number
  delivery: Delivery
  target: Target
  payload: unknown
  /** Null: paused, completed, or fired. */
  nextFireAt: Time | null
  /** The same on the clock of the job's time zone, such as 2030-01-31T03:00:00. */
  nextFireLocal: string | null
  /** The execution with the latest nominal time. */
  lastExecutionId: string | null
  lastState: ExecutionState | null
  /** When that one started. */
  lastRunAt: Time | null
  createdAt: Time
  updatedAt: Time
}

/** With what its latest execution says. */
export async function showJob(database: Database, job: JobRecord): Promise<JobView> {
  const { jobId } = job.definition
  return jobViewOf(job, (await readLatest(database, [jobId])).get(jobId))
}

export function jobViewOf(job: JobRecord, latest: LatestExecution | null = null): JobView {
  const { payload } = job.definition
  return { ...frameOf(job, latest, (ms) => new Date(ms)), payload: payload === null ? null : JSON.parse(payload) }
}

/** The same as JSON; see executions/view.ts. */
export function jobJsonOf(job: JobRecord, latest: LatestExecution | null, more: object = {}): string {
  const frame = JSON.stringify({ ...frameOf(job, latest, isoTime), ...more })
  return `${frame.slice(0, -1)},"payload":${job.definition.payload ?? 'null'}}`
}

function frameOf<Time>(
  job: JobRecord,
  latest: LatestExecution | null,
  time: (ms: number) => Time,
): Omit<JobView<Time>, 'payload'> {
  const { definition, due } = job
  const policy = definition.policy
  const date = (ms: number | null) => (ms === null ? null : time(ms))
  return {
    jobId: definition.jobId,
    key: definition.key,
    name: definition.name,
    tenant: definition.tenant,
    managedBy: definition.managedBy,
    labels: definition.labels ?? {},
    state: job.state,
    version: job.version,
    type: definition.type,
    schedule: definition.schedule,
    interval: definition.interval,
    anchor: date(millis(definition.anchor)),
    runAt: date(millis(definition.runAt)),
    runAtLocal: definition.runAtLocal,
    delayMs: definition.delayMs,
    timezone: definition.timezone,
    dst: definition.dst,
    dayFields: definition.dayFields,
    startAt: date(millis(definition.startAt)),
    endAt: date(millis(definition.endAt)),
    maxFires: definition.maxFires,
    jitterSec: definition.jitterSec,
    misfire: definition.misfire,
    misfireAfterSec: definition.misfireAfterSec,
    maxCatchUp: definition.maxCatchUp,
    graceSec: definition.graceSec,
    overlap: definition.overlap,
    priority: priorityOf(definition.lane),
    ...policyOf(policy),
    deadlineSec: definition.deadlineSec,
    startWithinSec: definition.startWithinSec,
    target: targetOf(definition, policy?.target),
    nextFireAt: date(due),
    nextFireLocal: due === null ? null : localTime(due, definition.timezone),
    lastExecutionId: latest?.executionId ?? null,
    lastState: latest?.state ?? null,
    lastRunAt: date(latest?.startedAt ?? null),
    createdAt: time(job.createdAt),
    updatedAt: time(job.updatedAt),
  }
}

function localTime(instant: number, timezone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timezone)
  return zoned.toPlainDateTime().toString()
}
