import type { Pool } from '@carillon/contract'
import type { Database } from '../database.ts'

/** A pool and what the queue tables call it: see domain/pool-key.ts. */
export interface FoundPool {
  key: string
  pool: Pool
}

/** Whose pools: a tenant sees the installation's and its own. Null: all. */
export type Viewer = string | null

/** All live workers are read once, however many pools are asked for. */
const counted = `coalesce(s.workers, 0) workers, coalesce(s.slots, 0) slots`
const serving = `
  left join (
    select p ->> 'pool' pool, count(*) workers, sum((p ->> 'slots')::bigint)::bigint slots
    from carillon.workers w cross join jsonb_array_elements(w.pools) p
    where w.seen_at >= coalesce($3, clock_timestamp()) - $2 * interval '1 millisecond'
    group by 1) s on s.pool = o.pool`

type Row = Pool & { key: string }

/** In the order of what the queue tables call them, after `after`. Index: pools_pkey; reads all workers. */
export async function readPools(
  database: Database,
  { viewer, silentMs, after, limit }: { viewer: Viewer; silentMs: number; after: string; limit: number },
): Promise<FoundPool[]> {
  const rows = await database.query<Row>(
    'read-pools',
    `select o.pool key, o.name, o.tenant, o.paused, ${counted}
     from (select * from carillon.pools o where o.pool > $4 and ($1::text is null or o.tenant is null or o.tenant = $1)
           order by o.pool limit $5) o ${serving}
     order by o.pool`,
    [viewer, silentMs, database.now, after, limit],
  )
  return rows.map(found)
}

/** The pool that a name means to a tenant: its own, else the installation's. Index: pools_name. */
export async function readPool(
  database: Database,
  { tenant, silentMs, name }: { tenant: string; silentMs: number; name: string },
): Promise<FoundPool | null> {
  const rows = await database.query<Row>(
    'read-pool',
    `select o.pool key, o.name, o.tenant, o.paused, ${counted} from carillon.pools o ${serving}
     where o.name = $4 and (o.tenant is null or o.tenant = $1) order by o.tenant nulls last limit 1`,
    [tenant, silentMs, database.now, name],
  )
  return rows[0] ? found(rows[0]) : null
}

function found({ key, ...pool }: Row): FoundPool {
  return { key, pool }
}

/** What carillon.claim_pools answers; see functions/pools/pools.sql. */
export type Claimed = { foreign: string[] } | { limit: number } | { keys: Record<string, string> | null; born: number }

/** Creates a pool, if it is not there. */
export async function createPool(
  database: Database,
  { name, tenant, actor, maxPools = 100 }: { name: string; tenant: string | null; actor: string; maxPools?: number },
): Promise<Claimed> {
  const rows = await database.query<{ claimed: Claimed }>(
    'create-pool',
    'select carillon.claim_pools($1, $2, $3, $4, $5) claimed',
    [tenant, [name], actor, maxPools, database.now],
  )
  return rows[0]!.claimed
}

/** Stops or starts leasing from a pool. A repeat is not recorded again. */
export async function pausePool(
  database: Database,
  { key, paused, actor }: { key: string; paused: boolean; actor: string },
): Promise<void> {
  await database.query(
    'pause-pool',
    `with changed as (update carillon.pools set paused = $2 where pool = $1 and paused <> $2 returning *)
     insert into carillon.audit (tenant, actor, action, subject)
     select c.tenant, $3, case when c.paused then 'pool.paused' else 'pool.resumed' end, c.name from changed c`,
    [key, paused, actor],
  )
}

export type PoolDeletion = 'DELETED' | 'UNKNOWN' | 'JOBS' | 'EXECUTIONS' | 'WORKERS'

/** It may read all jobs. */
const deleteMs = 10_000

/** Removes a pool, unless something names it. See functions/pools/pools.sql. */
export async function deletePool(
  database: Database,
  { key, actor, silentMs }: { key: string; actor: string; silentMs: number },
): Promise<PoolDeletion> {
  const rows = await database.query<{ verdict: PoolDeletion }>(
    'delete-pool',
    'select carillon.delete_pool($1, $2, $3, $4) verdict',
    [key, actor, silentMs, database.now],
    { withinMs: deleteMs },
  )
  return rows[0]!.verdict
}
