import { defaults } from '@carillon/contract'
import type { Database } from '../database.ts'
import { type Policy, policyOf, type StoredPolicy } from '../rows.ts'

/** Where to read a pool: per lane, the tag to read from and the leases since a lower lane had one. */
export interface LaneReading {
  from: number[]
  since: number[]
  turn: number
}

/** A free place in a worker. */
export interface Slot {
  workerId: string
  prefetched: boolean
}

export interface Lease {
  workerId: string
  executionId: string
  jobId: string
  tenant: string
  handler: string
  lane: number
  tag: number
  attempt: number
  fence: number
  scheduledFor: number
  dueAt: number
  deadlineAt: number | null
  /** JSON text, as all of a user's data. */
  payload: string
  policy: Policy
  /** The settings of a built-in target. */
  target: StoredPolicy['target'] | null
  lastProgress: string | null
  labels: Record<string, string>
  traceparent: string | null
}

/** See functions/lease.sql. The n-th row goes to the n-th slot. */
export async function lease(database: Database, pool: string, reading: LaneReading, slots: Slot[]): Promise<Lease[]> {
  const rows = await database.query<{
    worker_id: string
    execution_id: string
    job_id: string
    tenant: string
    handler: string
    lane: number
    tag: number
    attempt: number
    fence: number
    scheduled_for: number
    due_at: number
    deadline_at: number | null
    payload: string | null
    policy: StoredPolicy | null
    progress: string | null
    labels: Record<string, string> | null
    traceparent: string | null
  }>('lease', 'select * from carillon.lease($1,$2,$3,$4,$5,$6,$7,$8,$9)', [
    pool,
    reading.from,
    reading.since,
    reading.turn,
    slots.map((s) => s.workerId),
    slots.map((s) => s.prefetched),
    defaults.timeoutSec,
    defaults.cancelGraceSec,
    database.now,
  ])
  return rows.map((row) => ({
    workerId: row.worker_id,
    executionId: row.execution_id,
    jobId: row.job_id,
    tenant: row.tenant,
    handler: row.handler,
    lane: row.lane,
    tag: row.tag,
    attempt: row.attempt,
    fence: row.fence,
    scheduledFor: row.scheduled_for,
    dueAt: row.due_at,
    deadlineAt: row.deadline_at,
    payload: row.payload ?? 'null',
    policy: policyOf(row.policy),
    target: row.policy?.target ?? null,
    lastProgress: row.progress,
    labels: row.labels ?? {},
    traceparent: row.traceparent,
  }))
}
