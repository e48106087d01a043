import type { Database } from '../database.ts'

export interface PoolRow {
  name: string
  /** Its owner; null: the installation. */
  tenant: string | null
  paused: boolean
  /** Live workers that serve it, and their slots. */
  workers: number
  slots: number
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

/** By name, after `after`. Index: pools_pkey; reads all workers. */
export async function readPools(
  database: Database,
  { viewer, silentMs, after, limit }: { viewer: Viewer; silentMs: number; after: string; limit: number },
): Promise<PoolRow[]> {
  return database.query<PoolRow & Record<string, unknown>>(
    'read-pools',
    `select o.pool name, o.tenant, o.paused, ${counted}
     from (select * from carillon.pools o where o.pool > $4 and ($1::text is null or o.tenant is null or o.tenant = $1)
           order by o.pool limit $5) o ${serving}
     order by o.pool`,
    [viewer, silentMs, database.now, after, limit],
  )
}

/** One that the viewer may see. */
export async function readPool(
  database: Database,
  { viewer, silentMs, name }: { viewer: Viewer; silentMs: number; name: string },
): Promise<PoolRow | null> {
  const rows = await database.query<PoolRow & Record<string, unknown>>(
    'read-pool',
    `select o.pool name, o.tenant, o.paused, ${counted} from carillon.pools o ${serving}
     where o.pool = $4 and ($1::text is null or o.tenant is null or o.tenant = $1)`,
    [viewer, silentMs, database.now, name],
  )
  return rows[0] ?? null
}

/** False: it was there, whosever it is. */
export async function createPool(
  database: Database,
  { name, tenant, actor }: { name: string; tenant: string | null; actor: string },
): Promise<boolean> {
  const rows = await database.query(
    'create-pool',
    `with born as (insert into carillon.pools (pool, tenant) values ($1, $2) on conflict (pool) do nothing returning *)
     insert into carillon.audit (tenant, actor, action, subject) select b.tenant, $3, 'pool.created', b.pool from born b
     returning audit_id`,
    [name, tenant, actor],
  )
  return rows.length > 0
}

/** Stops or starts leasing from a pool. What is so already is not put on record again. */
export async function pausePool(
  database: Database,
  { name, paused, actor }: { name: string; paused: boolean; actor: string },
): Promise<void> {
  await database.query(
    'pause-pool',
    `with changed as (update carillon.pools set paused = $2 where pool = $1 and paused <> $2 returning *)
     insert into carillon.audit (tenant, actor, action, subject)
     select c.tenant, $3, case when c.paused then 'pool.paused' else 'pool.resumed' end, c.pool from changed c`,
    [name, paused, actor],
  )
}
