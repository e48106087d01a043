import type { Database } from '../database.ts'

/** Pools that have ready work and are not known, at most 20. Walks from pool to pool. Index: the primary key of ready. */
export async function readUnknownPools(database: Database): Promise<string[]> {
  const rows = await database.query<{ pool: string }>(
    null,
    `with recursive found(pool, n) as (
       (select r.pool, 1 from carillon.ready r order by r.pool limit 1)
       union all
       select (select r.pool from carillon.ready r where r.pool > f.pool order by r.pool limit 1), f.n + 1
       from found f where f.pool is not null and f.n < 10000)
     select f.pool from found f
     where f.pool is not null and not exists (select from carillon.pools p where p.pool = f.pool) limit 20`,
  )
  return rows.map(({ pool }) => pool)
}
