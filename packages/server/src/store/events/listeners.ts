import type { Database } from '../database.ts'

export interface Heard {
  tenant: string
  /**
   * Events are complete after this one and still stored. Null: the tenant had no listeners just now,
   * and changes may be under way that do not know yet that it is; see `confirmListening`.
   */
  sinceEventId: number | null
}

/**
 * From now on, and for `forMs`, changes of these tenants write events. Where there were no listeners until shortly before now, it
 * begins anew: a change that began a moment after the old time was over must not have been missed unnoticed, hence the
 * margin. Locks: event_listeners by tenant.
 */
export async function listenTo(
  database: Database,
  tenants: string[],
  { forMs, marginMs }: { forMs: number; marginMs: number },
): Promise<Heard[]> {
  const rows = await database.query<{ tenant: string; since: number | null }>(
    'listen-to',
    `insert into carillon.event_listeners as l (tenant, until)
     select t.tenant, coalesce($4, clock_timestamp()) + $2 * interval '1 millisecond'
     from (select distinct unnest($1::text[]) collate "C" tenant) t order by t.tenant
     on conflict (tenant) do update set until = excluded.until,
       since_event_id = case when l.until > coalesce($4, clock_timestamp()) + $3 * interval '1 millisecond'
                             then l.since_event_id end
     returning tenant, since_event_id since`,
    [tenants, forMs, marginMs, database.now],
  )
  return rows.map(({ tenant, since }) => ({ tenant, sinceEventId: since }))
}

/**
 * From now on all events are written: every transaction under way knows of the listeners. Where that begins is an id of its own, larger than any
 * that was given out before: a listener at an older id learns that events may be missing. Returns what is stored, perhaps
 * from another node.
 */
export async function confirmListening(database: Database, tenants: string[]): Promise<Heard[]> {
  const rows = await database.query<{ tenant: string; since: number }>(
    'confirm-listening',
    `with locked as (
       select tenant from carillon.event_listeners where tenant = any ($1) order by tenant for update)
     update carillon.event_listeners l
       set since_event_id = coalesce(l.since_event_id, nextval('carillon.events_event_id_seq'))
     from locked where l.tenant = locked.tenant
     returning l.tenant, l.since_event_id since`,
    [tenants],
  )
  return rows.map(({ tenant, since }) => ({ tenant, sinceEventId: since }))
}

/** See functions/events/event_writers.sql. */
export async function readWriters(database: Database): Promise<{ lastId: number; writers: string[] }> {
  const rows = await database.query<{ last_id: number; writers: string[] }>(
    'event-writers',
    'select last_id, writers from carillon.event_writers()',
  )
  return { lastId: rows[0]!.last_id, writers: rows[0]!.writers }
}
