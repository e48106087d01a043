import { defaults } from '@carillon/contract'
import type { LeasedExecution } from '@carillon/sdk'
import { booleans, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

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

/** What a worker was given of a lane. */
export interface Leased {
  workerId: string
  lane: number
  count: number
  /** The largest tag that was taken from the lane. */
  reached: number
  /** JSON texts of LeasedExecution with commas between them, in the order of the worker's slots. */
  executions: string
}

/** A row of what LEASE answers. */
export interface LeasedRow {
  worker_id: string
  lane: number
  leased: number
  reached: number
  executions: string
}

/** See functions/lease.sql. The n-th execution goes to the n-th slot. */
export async function lease(database: Database, pool: string, reading: LaneReading, slots: Slot[]): Promise<Leased[]> {
  const rows = await database.query<LeasedRow>(
    'lease',
    'select * from carillon.lease($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)',
    [pool, ...leaseParameters(reading, slots), database.now],
  )
  return rows.map(leasedOf)
}

/** What LEASE is asked, but for pool and time. */
export function leaseParameters(reading: LaneReading, slots: Slot[]): unknown[] {
  return [
    reading.from,
    reading.since,
    reading.turn,
    uuids(slots.map((s) => s.workerId)),
    booleans(slots.map((s) => s.prefetched)),
    defaults.timeoutSec,
    defaults.cancelGraceSec,
    defaults.retryPolicy.maxAttempts,
  ]
}

export function leasedOf({ worker_id, lane, leased, reached, executions }: LeasedRow): Leased {
  return { workerId: worker_id, lane, count: leased, reached, executions }
}

/** The executions themselves, for whoever has to look into them. */
export function leasedExecutions(executions: string): LeasedExecution[] {
  return JSON.parse(`[${executions}]`)
}
