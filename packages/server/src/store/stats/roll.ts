/** What adds minutes up to hours and hours to days needs to know. */
import type { Database } from '../database.ts'
import type { StoredStep } from './figures.ts'

/** Up to when everything was added up for good; null: nothing was. */
export async function readRolledUntil(database: Database): Promise<number | null> {
  const rows = await database.query<{ until: number }>(
    'read-stats-rolled',
    'select carillon.ms(r.until) until from carillon.stats_rolled r',
  )
  return rows[0]?.until ?? null
}

export async function writeRolledUntil(database: Database, until: number): Promise<void> {
  await database.query(
    'write-stats-rolled',
    `insert into carillon.stats_rolled (until) values (carillon.at($1)) on conflict (singleton) do update set until = excluded.until`,
    [until],
  )
}

/** The tenants after this one of which something is kept; '' begins. Index: stats_pkey, of which one row of each is looked for. */
export async function readTenants(
  database: Database,
  step: StoredStep,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await database.query<{ tenant: string }>(
    'read-stats-tenants',
    `with recursive found as (
       (select s.tenant, 1 n from carillon.stats s where s.step = $1 and s.tenant > $2 order by s.step, s.tenant limit 1)
       union all
       select x.tenant, f.n + 1 from found f cross join lateral (
         select s.tenant from carillon.stats s where s.step = $1 and s.tenant > f.tenant order by s.step, s.tenant limit 1) x
       where f.n < $3)
     select tenant from found`,
    [step, after, limit],
  )
  return rows.map(({ tenant }) => tenant)
}

export interface Pruned {
  tenants: string[]
  step: StoredStep
  before: number
  limit: number
}

/** Drops what is older; true: there is more. Index: stats_at. */
export async function pruneStats(database: Database, { tenants, step, before, limit }: Pruned): Promise<boolean> {
  const rows = await database.query<{ count: number }>(
    'prune-stats',
    `with gone as (
       delete from carillon.stats s where s.ctid = any (array(
         select o.ctid from carillon.stats o where o.step = $1 and o.tenant = any ($2) and o.at < carillon.at($3) limit $4)) returning 1)
     select count(*) from gone`,
    [step, tenants, before, limit],
  )
  return rows[0]!.count >= limit
}

/** Drops what is by handler, and leaves the sums by pool and of all; true: there is more. Index: stats_at, from `from` on. */
export async function pruneHandlers(
  database: Database,
  { tenants, step, from, before, limit }: Pruned & { from: number },
): Promise<boolean> {
  const rows = await database.query<{ count: number }>(
    'prune-stats-handlers',
    `with gone as (
       delete from carillon.stats s where s.ctid = any (array(
         select o.ctid from carillon.stats o where o.step = $1 and o.tenant = any ($2) and o.at >= carillon.at($3)
           and o.at < carillon.at($4) and o.handler <> '' limit $5)) returning 1)
     select count(*) from gone`,
    [step, tenants, from, before, limit],
  )
  return rows[0]!.count >= limit
}
