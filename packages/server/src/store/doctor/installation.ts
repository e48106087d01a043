/** What the doctor asks the installation's own tables. Every count is bounded; no locks. */
import type { Database } from '../database.ts'

/** The newest migration applied, or null if there is no schema. */
export async function readSchemaVersion(database: Database): Promise<number | null> {
  const there = await database.query<{ there: boolean }>(
    null,
    `select to_regclass('carillon.migrations') is not null there`,
  )
  if (!there[0]!.there) return null
  const rows = await database.query<{ version: number | null }>(
    null,
    'select max(version) "version" from carillon.migrations',
  )
  return rows[0]!.version
}

export interface Leadership {
  nodes: number
  shards: number
  leaderless: number
}

export async function readLeadership(database: Database): Promise<Leadership> {
  const rows = await database.query<{ nodes: number; shards: number; leaderless: number }>(
    null,
    `with live as (select node_id from carillon.nodes where lease_until > coalesce($1, clock_timestamp()))
     select (select count(*) from live)::int nodes, count(*)::int shards,
       count(*) filter (where s.node_id is null or s.node_id not in (select node_id from live))::int leaderless
     from carillon.shards s`,
    [database.now],
  )
  return rows[0]!
}

/** Jobs whose time came `lateMs` ago and that have not fired, counted up to `most`. Index: schedules_due. */
export async function countOverdue(database: Database, { lateMs, most }: { lateMs: number; most: number }) {
  const rows = await database.query<{ count: number; oldest_ms: number | null }>(
    null,
    `select count(*)::int "count", extract(epoch from coalesce($3, clock_timestamp()) - min(due))::float8 * 1000 oldest_ms
     from (select due from carillon.schedules
       where due < coalesce($3, clock_timestamp()) - $1 * interval '1 millisecond' order by due limit $2) late`,
    [lateMs, most, database.now],
  )
  return { count: rows[0]!.count, oldestMs: rows[0]!.oldest_ms }
}

export interface SilentWorker {
  workerId: string
  name: string
  silentMs: number
  running: number
}

/** Workers not heard of for `silentMs`, the most silent first. */
export async function readSilentWorkers(
  database: Database,
  silentMs: number,
): Promise<{ live: number; silent: SilentWorker[] }> {
  const rows = await database.query<{ live: number; silent: SilentWorker[] | null }>(
    null,
    `with seen as (
       select worker_id, name, extract(epoch from coalesce($2, clock_timestamp()) - seen_at)::float8 * 1000 silent_ms
       from carillon.workers)
     select count(*) filter (where silent_ms <= $1)::int live,
       (select json_agg(json_build_object('workerId', s.worker_id, 'name', s.name, 'silentMs', s.silent_ms, 'running',
          (select coalesce(sum(l.open), 0)::int from carillon.leases l where l.worker_id = s.worker_id)) order by s.silent_ms desc)
        from (select * from seen where silent_ms > $1 order by silent_ms desc limit 20) s) silent
     from seen`,
    [silentMs, database.now],
  )
  return { live: rows[0]!.live, silent: rows[0]!.silent ?? [] }
}

export interface StrandedPool {
  pool: string
  /** Its owner; null: the installation. */
  tenant: string | null
  paused: boolean
  workers: number
}

/** Pools that have ready work and are paused, or that no live worker serves. Index: the primary key of ready. */
export async function readStrandedPools(database: Database, silentMs: number): Promise<StrandedPool[]> {
  return database.query<{ pool: string; tenant: string | null; paused: boolean; workers: number }>(
    null,
    `select p.name pool, p.tenant, p.paused, w.workers from carillon.pools p cross join lateral (
       select count(*)::int workers from carillon.workers w
       where w.seen_at >= coalesce($2, clock_timestamp()) - $1 * interval '1 millisecond'
         and w.pools @> jsonb_build_array(jsonb_build_object('pool', p.pool))) w
     where (p.paused or w.workers = 0) and exists (select from carillon.ready r where r.pool = p.pool)
     order by p.pool`,
    [silentMs, database.now],
  )
}

/** Dead letters of executions younger than `sinceMs`, counted up to `most`. */
export async function countDeadLetters(database: Database, { sinceMs, most }: { sinceMs: number; most: number }) {
  const rows = await database.query<{ count: number }>(
    null,
    `select count(*)::int "count" from (select from carillon.endings
       where state = 'DEAD'
         and execution_id >= carillon.first_id(carillon.ms(coalesce($3, clock_timestamp())) - $1::bigint)
       limit $2) dead`,
    [sinceMs, most, database.now],
  )
  return rows[0]!.count
}

export interface LossOnRecord {
  foundAt: Date
  keptUntil: Date
  seenUntil: Date
}

/** The last time that the database was found to have lost what it had committed. */
export async function readLastLoss(database: Database, sinceMs: number): Promise<LossOnRecord | null> {
  const rows = await database.query<{ foundAt: Date; keptUntil: Date; seenUntil: Date }>(
    null,
    `select l.found_at "foundAt", l.kept_until "keptUntil", l.seen_until "seenUntil" from carillon.losses l
     where l.found_at >= coalesce($2, clock_timestamp()) - $1 * interval '1 millisecond' order by l.loss_id desc limit 1`,
    [sinceMs, database.now],
  )
  return rows[0] ?? null
}
