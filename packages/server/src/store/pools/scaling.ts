import type { PoolScaling } from '@carillon/contract'
import type { Database } from '../database.ts'

export type PoolLoad = Pick<PoolScaling, 'ready' | 'running' | 'oldestReadyMs'>

/** Counted so far and no further. */
const most = 10_000

/**
 * What waits and runs in a pool. Indexes: ready_pkey, up to 10,000 of its entries, and the first of each lane in the ledger;
 * leases_tag. What has been tried before waits since its last attempt.
 */
export async function readPoolLoad(database: Database, name: string): Promise<PoolLoad> {
  const rows = await database.query<{ ready: number; running: number; oldest_ready_ms: number | null }>(
    'read-pool-load',
    `select (select count(*) from (select from carillon.ready r where r.pool = $1 limit $2) r) ready,
       (select coalesce(sum(l.open), 0)::int from carillon.leases l where l.pool = $1) running,
       (select max(carillon.ms(coalesce($3, clock_timestamp())) - carillon.ms(
          greatest(e.due_at, e.fired_at, carillon.at((e.history -> -1 ->> 'at')::bigint))))
        from generate_series(0, 3) l(lane) cross join lateral (
          select r.execution_id from carillon.ready r where r.pool = $1 and r.lane = l.lane
          order by r.tag, r.execution_id limit 1) first
        join carillon.executions e on e.execution_id = first.execution_id) oldest_ready_ms`,
    [name, most, database.now],
  )
  const { ready, running, oldest_ready_ms: oldest } = rows[0]!
  return { ready, running, oldestReadyMs: oldest === null ? null : Math.max(0, oldest) }
}
