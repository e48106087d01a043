import { bigints, smallints, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import type { ReadyKey } from './lease.ts'

/** A row of `ready`, with what others are told about it. */
export interface ReadyRow {
  tag: number
  executionId: string
  jobId: string
  tenant: string
  /** Milliseconds. */
  scheduledFor: number
  traceparent: string | null
}

/** The first rows of a lane from this tag on. See functions/leases/read_ready.sql. */
export async function readReady(
  database: Database,
  { pool, lane, from, limit }: { pool: string; lane: number; from: number; limit: number },
): Promise<ReadyRow[]> {
  return database.query<ReadyRow & Record<string, unknown>>(
    'read-ready',
    `select tag, execution_id "executionId", job_id "jobId", tenant, scheduled_for "scheduledFor", traceparent
     from carillon.read_ready($1, $2, $3, $4)`,
    [pool, lane, from, limit],
  )
}

/** Of these rows of a pool, the executions whose rows are still there. */
export async function readStillReady(
  database: Database,
  pool: string,
  keys: readonly Omit<ReadyKey, 'pool'>[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await database.query<{ ids: string[] }>(
    'still-ready',
    'select carillon.still_ready($1, $2, $3, $4) ids',
    [
      pool,
      smallints(keys.map((key) => key.lane)),
      bigints(keys.map((key) => key.tag)),
      uuids(keys.map((key) => key.executionId)),
    ],
  )
  return new Set(rows[0]!.ids)
}
