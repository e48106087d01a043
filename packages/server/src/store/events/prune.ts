import type { Database } from '../database.ts'

/**
 * Removes the oldest events if they are older than `keptMs`, in the order of their ids, and says in the same transaction from
 * where on they are complete. Answers how many. Locks: events, then event_listeners. Index: events_pkey.
 */
export async function pruneEvents(database: Database, keptMs: number, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    'prune-events',
    `with bound as (
       select max(event_id) id from (select event_id, at from carillon.events order by event_id limit $2) oldest
       where at < coalesce($3, clock_timestamp()) - $1 * interval '1 millisecond'
     ), gone as (
       delete from carillon.events e using bound where e.event_id <= bound.id returning 1
     ), heard as (
       select l.tenant from carillon.event_listeners l join bound on l.since_event_id < bound.id
       order by l.tenant for update of l
     ), moved as (
       update carillon.event_listeners l set since_event_id = bound.id from bound, heard
       where l.tenant = heard.tenant)
     select count(*) n from gone`,
    [keptMs, limit, database.now],
  )
  return rows[0]!.n
}

/** Removes tenants without listeners. */
export async function forgetListeners(database: Database): Promise<void> {
  await database.query(
    'forget-listeners',
    'delete from carillon.event_listeners where until < coalesce($1, clock_timestamp())',
    [database.now],
  )
}
