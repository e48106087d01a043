import type { Event, Timed } from '@carillon/contract'
import type { Database } from '../database.ts'

/** An event as it is stored: times of the detail are milliseconds. */
export interface EventRow extends Timed<Omit<Event, 'executionId' | 'detail'>, 'at', number> {
  executionId: string | null
  detail: Record<string, unknown>
}

const columns = `e.event_id "eventId", carillon.ms(e.at) "at", e.tenant, e.type, e.job_id "jobId",
  e.execution_id "executionId", e.detail`

/**
 * How far the ids after `after` follow each other without a gap, and how far there are any; null: not at all. Looks at no
 * more than `limit`. Index: events_pkey.
 */
export async function readAhead(
  database: Database,
  after: number,
  limit: number,
): Promise<{ reached: number | null; seen: number | null }> {
  const rows = await database.query<{ reached: number | null; seen: number | null }>(
    'events-ahead',
    `select max(event_id) filter (where base = $1) reached, max(event_id) seen from (
       select event_id, event_id - row_number() over (order by event_id) base from (
         select event_id from carillon.events where event_id > $1 order by event_id limit $2) a) b`,
    [after, limit],
  )
  return rows[0]!
}

/** The ids between two, the latter included: nothing else of the events. */
export async function readEventIds(
  database: Database,
  { after, upTo }: { after: number; upTo: number },
): Promise<number[]> {
  const sql = 'select event_id id from carillon.events where event_id > $1 and event_id <= $2 order by event_id'
  const rows = await database.query<{ id: number }>(null, sql, [after, upTo])
  return rows.map(({ id }) => id)
}

/** The events of these tenants between two ids, the latter included; of `only` if given. */
export function readBetween(
  database: Database,
  tenants: string[],
  { after, upTo }: { after: number; upTo: number },
  only: number[] | null = null,
): Promise<EventRow[]> {
  return database.query<EventRow & Record<string, unknown>>(
    'events-between',
    `select ${columns} from carillon.events e
     where e.tenant = any ($1) and e.event_id > $2 and e.event_id <= $3
       and ($4::bigint[] is null or e.event_id = any ($4)) order by e.event_id`,
    [tenants, after, upTo, only],
  )
}

/** The events of all tenants between two ids, the latter included; of `only` if given. Index: events_pkey. */
export function readAllBetween(
  database: Database,
  { after, upTo }: { after: number; upTo: number },
  only: number[] | null = null,
): Promise<EventRow[]> {
  return database.query<EventRow & Record<string, unknown>>(
    'all-events-between',
    `select ${columns} from carillon.events e
     where e.event_id > $1 and e.event_id <= $2 and ($3::bigint[] is null or e.event_id = any ($3)) order by e.event_id`,
    [after, upTo, only],
  )
}

/** From where on the events of a tenant are complete; null: they are not, because nobody has listened. */
const since = (now: '$2' | '$5') => `case when l.until > coalesce(${now}, clock_timestamp()) then l.since_event_id end`

/** Of each tenant that is listened to, from where on its events are complete. */
export async function readSince(database: Database, tenants: string[]): Promise<Map<string, number>> {
  const rows = await database.query<{ tenant: string; since: number | null }>(
    'events-since',
    `select l.tenant, ${since('$2')} since from carillon.event_listeners l where l.tenant = any ($1)`,
    [tenants, database.now],
  )
  return new Map(rows.flatMap(({ tenant, since }) => (since === null ? [] : [[tenant, since]])))
}

/** A page of one tenant, and from where on its events are complete, of the same moment. Index: events_tenant. */
export async function readPage(
  database: Database,
  tenant: string,
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
): Promise<{ sinceEventId: number | null; events: EventRow[] }> {
  const rows = await database.query<{ since: number | null } & (EventRow | { eventId: null })>(
    'events-page',
    `select ${since('$5')} since, p.* from (values (1)) one
     left join carillon.event_listeners l on l.tenant = $1
     left join lateral (
       select ${columns} from carillon.events e
       where e.tenant = $1 and e.event_id > $2 and e.event_id <= $3 order by e.event_id limit $4) p on true
     order by p."eventId"`,
    [tenant, after, upTo, limit, database.now],
  )
  const events = rows.flatMap(({ since: _, ...event }) => (event.eventId === null ? [] : [event as EventRow]))
  return { sinceEventId: rows[0]!.since, events }
}
