/** A job's definition, and the row of `jobs` that holds it. Column names stay in the store. */
import type { DayFields, DstPolicy, FollowedEnd, Job, JobType, MisfirePolicy, OverlapPolicy } from '@carillon/contract'
import type { StoredPolicy } from '../rows.ts'

/** What says when a job fires. */
type TimeField =
  | ('jobId' | 'runAt' | 'schedule' | 'interval' | 'anchor' | 'timezone' | 'dst' | 'dayFields')
  | ('startAt' | 'endAt')
/** What says how its occurrences are fired. */
type FireField =
  | ('tenant' | 'maxFires' | 'jitterSec' | 'misfire' | 'misfireAfterSec' | 'maxCatchUp' | 'graceSec')
  | ('startWithinSec' | 'overlap')
type OtherField = 'name' | 'type' | 'runAtLocal' | 'delayMs' | 'after' | 'deadlineSec' | 'key' | 'managedBy'

export type TimesDefinition = Pick<Job, TimeField>
export type FireDefinition = TimesDefinition & Pick<Job, FireField>

/** A job as the contract has it, but as it is stored: defaults of policies left out. Times are ISO 8601. */
export interface JobDefinition extends FireDefinition, Pick<Job, OtherField> {
  /** What the queue tables call its pool: see domain/pool-key.ts. */
  pool: string
  lane: number
  handler: string
  /** JSON text. */
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
}

/** The columns that a fire is planned from. */
export interface FireRow {
  job_id: string
  tenant: string
  run_at: string | null
  cron: string | null
  interval: string | null
  anchor: string | null
  timezone: string
  dst_gap: DstPolicy['gap']
  dst_overlap: DstPolicy['overlap']
  day_fields: DayFields
  start_at: string | null
  end_at: string | null
  max_fires: number | null
  jitter_sec: number
  misfire: MisfirePolicy
  misfire_after_sec: number
  max_catch_up: number
  grace_sec: number | null
  start_within_sec: number | null
  overlap: OverlapPolicy
}

/** The columns of `jobs`, as JSON for the functions that write them. */
export interface JobRow extends FireRow {
  name: string
  type: JobType
  /** What `run_at` was asked for by: a wall clock of the zone, such as 2030-03-10T02:30:00. */
  run_local: string | null
  delay_ms: number | null
  after_job: string | null
  after_on: FollowedEnd | null
  deadline_sec: number | null
  pool: string
  lane: number
  handler: string
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
  key: string | null
  managed_by: string | null
}

export function fireDefinitionOf(row: FireRow): FireDefinition {
  return {
    jobId: row.job_id,
    tenant: row.tenant,
    runAt: row.run_at,
    schedule: row.cron,
    interval: row.interval,
    anchor: row.anchor,
    timezone: row.timezone,
    dst: { gap: row.dst_gap, overlap: row.dst_overlap },
    dayFields: row.day_fields,
    startAt: row.start_at,
    endAt: row.end_at,
    maxFires: row.max_fires,
    jitterSec: row.jitter_sec,
    misfire: row.misfire,
    misfireAfterSec: row.misfire_after_sec,
    maxCatchUp: row.max_catch_up,
    graceSec: row.grace_sec,
    startWithinSec: row.start_within_sec,
    overlap: row.overlap,
  }
}

export function definitionOf(row: JobRow): JobDefinition {
  return {
    ...fireDefinitionOf(row),
    name: row.name,
    type: row.type,
    runAtLocal: row.run_local,
    delayMs: row.delay_ms,
    after: row.after_job === null ? null : { job: row.after_job, on: row.after_on! },
    deadlineSec: row.deadline_sec,
    pool: row.pool,
    lane: row.lane,
    handler: row.handler,
    payload: row.payload,
    policy: row.policy,
    labels: row.labels,
    key: row.key,
    managedBy: row.managed_by,
  }
}

export function jobRowOf(job: JobDefinition): JobRow {
  return {
    job_id: job.jobId,
    tenant: job.tenant,
    name: job.name,
    type: job.type,
    run_at: job.runAt,
    run_local: job.runAtLocal,
    delay_ms: job.delayMs,
    after_job: job.after?.job ?? null,
    after_on: job.after?.on ?? null,
    cron: job.schedule,
    interval: job.interval,
    anchor: job.anchor,
    timezone: job.timezone,
    dst_gap: job.dst.gap,
    dst_overlap: job.dst.overlap,
    day_fields: job.dayFields,
    start_at: job.startAt,
    end_at: job.endAt,
    max_fires: job.maxFires,
    jitter_sec: job.jitterSec,
    misfire: job.misfire,
    misfire_after_sec: job.misfireAfterSec,
    max_catch_up: job.maxCatchUp,
    grace_sec: job.graceSec,
    start_within_sec: job.startWithinSec,
    deadline_sec: job.deadlineSec,
    overlap: job.overlap,
    pool: job.pool,
    lane: job.lane,
    handler: job.handler,
    payload: job.payload,
    policy: job.policy,
    labels: job.labels,
    key: job.key,
    managed_by: job.managedBy,
  }
}
