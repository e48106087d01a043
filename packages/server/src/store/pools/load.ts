import type { Database } from '../database.ts'

export interface LaneLoad {
  pool: string
  lane: number
  ready: number
  running: number
  retrying: number
  oldestReadyMs: number | null
}

/** Counted so far and no further: of each lane, and of the retries of all pools together. */
const most = 10_000
const mostRetries = 100_000

/**
 * What waits and runs in pools, by lane. Indexes: ready_pkey, up to 10,000 entries of each lane, and its first one in the ledger;
 * leases, as many rows as workers have calls open; the first 100,000 retries, of whatever pool.
 */
export async function readLoad(database: Database, pools: readonly string[]): Promise<LaneLoad[]> {
  const rows = await database.query<LaneLoad & { oldest_ready_ms: number | null }>(
    'read-load',
    `with held as (
       select l.pool, l.lane, sum(l.open)::int running from carillon.leases l where l.pool = any($1) group by 1, 2),
     tried as (
       select r.pool, r.lane, count(*)::int retrying from (
         select r.pool, r.lane from carillon.retries r limit $3) r where r.pool = any($1) group by 1, 2)
     select p.pool, l.lane, counted.ready, coalesce(h.running, 0) running, coalesce(t.retrying, 0) retrying,
       first.waited oldest_ready_ms
     from unnest($1::text[]) p(pool)
     cross join generate_series(0, 3) l(lane)
     cross join lateral (
       select count(*)::int ready from (
         select from carillon.ready r where r.pool = p.pool and r.lane = l.lane limit $2) r) counted
     left join lateral (
       select carillon.ms(coalesce($4, clock_timestamp())) - carillon.ms(
         greatest(e.due_at, e.fired_at, carillon.at((e.history -> -1 ->> 'at')::bigint))) waited
       from (select r.execution_id from carillon.ready r where r.pool = p.pool and r.lane = l.lane
             order by r.tag, r.execution_id limit 1) r
       join carillon.executions e on e.execution_id = r.execution_id) first on true
     left join held h on h.pool = p.pool and h.lane = l.lane
     left join tried t on t.pool = p.pool and t.lane = l.lane`,
    [pools, most, mostRetries, database.now],
  )
  return rows.map(({ pool, lane, ready, running, retrying, oldest_ready_ms: oldest }) => ({
    ...{ pool, lane, ready, running, retrying },
    oldestReadyMs: oldest === null ? null : Math.max(0, oldest),
  }))
}
