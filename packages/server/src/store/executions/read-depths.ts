import type { Database } from '../database.ts'

export interface DepthRow {
  where: 'ready' | 'running' | 'waiting' | 'retrying'
  pool: string
  lane: number
  count: number
  /** Milliseconds since 1970; null: the ledger does not know it. */
  since: number | null
}

/** Counted of each pool and lane. */
const most = 10_000
const mostLanes = 100

/** What is in the queue tables, by pool and lane. See functions/reads/read_depths.sql. */
export async function readDepths(database: Database): Promise<DepthRow[]> {
  return database.query<DepthRow & Record<string, unknown>>(
    'read-depths',
    'select * from carillon.read_depths($1, $2)',
    [most, mostLanes],
  )
}
