import type { PoolScaling } from '@carillon/contract'
import type { Database } from '../database.ts'

export type PoolLoad = Pick<PoolScaling, 'ready' | 'running' | 'oldestReadyMs'>

/** Counted so far and no further. */
const most = 10_000

/**
 * What waits and runs in a pool. Index: ready_pkey, up to 10,000 of its entries; and the first of each lane in the ledger.
 * Reads all of `running`, as every heartbeat does; the ledger is asked only about workers that serve several pools. What
 * has been tried before waits since its last attempt.
 */
export async function readPoolLoad(database: Database, name: string): Promise<PoolLoad> {
  const rows = await database.query<{ ready: number; running: number; oldest_ready_ms: number | null }>(
    'read-pool-load',
    `with serving as (
       select w.worker_id, jsonb_array_length(w.pools) = 1 only from carillon.workers w
       where w.pools @> jsonb_build_array(jsonb_build_object('pool', $1::text)))
     select (select count(*) from (select from carillon.ready r where r.pool = $1 limit $2) r) ready,
       (select count(*) from carillon.running r join serving s on s.worker_id = r.worker_id
        where s.only or (select e.pool from carillon.executions e where e.execution_id = r.execution_id) = $1) running,
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
