/** How rows become the words of the domain. The only place that knows column names and domain names at once. */
import {
  type DayFields,
  type Delivery,
  type DstPolicy,
  defaults,
  type JobState,
  type JobType,
  type MisfirePolicy,
  type OverlapPolicy,
  type Priority,
  priorities,
  type RetryPolicy,
  type WireJobInput,
} from '@carillon/contract'
import { isoTime } from '../lib/iso-time.ts'

/** Policies as stored: only what differs from the defaults. */
export interface StoredPolicy {
  retryPolicy?: Partial<RetryPolicy>
  timeoutSec?: number
  heartbeatTimeoutSec?: number
  startWithinSec?: number
  deadlineSec?: number
  delivery?: Delivery
  cancelGraceSec?: number
  unknownHandlerSec?: number
  pauseAfterFailures?: number
  /** The settings of a built-in target. */
  target?: Pick<WireJobInput['target'], 'http' | 'shell'>
}

/** Policies as used. */
export interface Policy {
  retryPolicy: RetryPolicy
  timeoutSec: number
  heartbeatTimeoutSec: number | null
  delivery: Delivery
  cancelGraceSec: number
  unknownHandlerSec: number
  pauseAfterFailures: number | null
}

export function policyOf(stored: StoredPolicy | null): Policy {
  return {
    retryPolicy: { ...defaults.retryPolicy, ...stored?.retryPolicy },
    timeoutSec: stored?.timeoutSec ?? defaults.timeoutSec,
    heartbeatTimeoutSec: stored?.heartbeatTimeoutSec ?? null,
    delivery: stored?.delivery ?? defaults.delivery,
    cancelGraceSec: stored?.cancelGraceSec ?? defaults.cancelGraceSec,
    unknownHandlerSec: stored?.unknownHandlerSec ?? defaults.unknownHandlerSec,
    pauseAfterFailures: stored?.pauseAfterFailures ?? null,
  }
}

export function laneOf(priority: Priority): number {
  return priorities.indexOf(priority)
}

export function priorityOf(lane: number): Priority {
  return priorities[lane]!
}

/** The columns of `jobs`, as JSON for the functions that write them. Times are ISO 8601. */
export interface JobRow {
  job_id: string
  tenant: string
  name: string
  type: JobType
  run_at: string | null
  /** What `run_at` was asked for by: a wall clock of the zone, such as 2030-03-10T02:30:00. */
  run_local: string | null
  delay_ms: number | null
  cron: string | null
  interval: string | null
  timezone: string
  dst_gap: DstPolicy['gap']
  dst_overlap: DstPolicy['overlap']
  day_fields: DayFields
  anchor: string | null
  start_at: string | null
  end_at: string | null
  max_fires: number | null
  jitter_sec: number
  misfire: MisfirePolicy
  misfire_after_sec: number
  max_catch_up: number
  grace_sec: number | null
  start_within_sec: number | null
  deadline_sec: number | null
  overlap: OverlapPolicy
  pool: string
  lane: number
  handler: string
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
  key: string | null
  managed_by: string | null
}

/** A job as it stands: its definition, and where its schedule is. Times in milliseconds. */
export interface JobRecord {
  definition: JobRow
  version: number
  state: JobState
  shard: number
  nominal: number | null
  due: number | null
  fires: number
  createdAt: number
  updatedAt: number
}

export function millis(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso)
}

export function iso(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : isoTime(ms)
}

/** Work that became ready, by pool and lane, with its smallest tag: what the hint carries. */
export interface QueuedWork {
  pool: string
  lane: number
  tag: number
  count: number
}

export function queuedOf(rows: [string, number, number, number][] | null): QueuedWork[] {
  return (rows ?? []).map(([pool, lane, tag, count]) => ({ pool, lane, tag, count }))
}
