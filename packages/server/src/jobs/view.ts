/** A job as people and programs see it. */
import type { JobState, JobType, OverlapPolicy, Priority } from '@carillon/contract'
import { type JobRecord, millis, priorityOf } from '../store/rows.ts'

export interface JobView {
  jobId: string
  key: string | null
  name: string
  tenant: string
  labels: Record<string, string>
  state: JobState
  /** Grows with every change of the definition. */
  version: number
  type: JobType
  /** The cron expression of type CRON. */
  schedule: string | null
  /** The duration of type INTERVAL. */
  interval: string | null
  runAt: Date | null
  timezone: string
  overlap: OverlapPolicy
  priority: Priority
  target: { pool: string; handler: string }
  payload: unknown
  /** Null: paused, completed, or fired. */
  nextFireAt: Date | null
  /** The same on the clock of the job's time zone, such as 2030-01-31T03:00:00. */
  nextFireLocal: string | null
  createdAt: Date
  updatedAt: Date
}

export function jobViewOf({ definition, state, version, due, createdAt, updatedAt }: JobRecord): JobView {
  const runAt = millis(definition.run_at)
  return {
    jobId: definition.job_id,
    key: definition.key,
    name: definition.name,
    tenant: definition.tenant,
    labels: definition.labels ?? {},
    state,
    version,
    type: definition.type,
    schedule: definition.cron,
    interval: definition.interval,
    runAt: runAt === null ? null : new Date(runAt),
    timezone: definition.timezone,
    overlap: definition.overlap,
    priority: priorityOf(definition.lane),
    target: { pool: definition.pool, handler: definition.handler },
    payload: definition.payload === null ? null : JSON.parse(definition.payload),
    nextFireAt: due === null ? null : new Date(due),
    nextFireLocal: due === null ? null : localTime(due, definition.timezone),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  }
}

function localTime(instant: number, timezone: string): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timezone)
  return zoned.toPlainDateTime().toString()
}
