/** Listeners that are always there: see functions/events/subscriptions.sql and migration 0016. */
import type { Database } from '../database.ts'

export const sources = ['EVENTS', 'AUDIT'] as const
/** What is subscribed to. */
export type Source = (typeof sources)[number]

/** Which subscription, and to what. */
export interface SubscriptionKey {
  name: string
  source: Source
}

/** Ids after the first and up to the second were dropped before they were delivered. */
export interface Gap {
  after: number
  upTo: number
}

/** Where a subscription stands. */
export interface Standing {
  /** Everything up to here was delivered or dropped. Null: it has not begun. */
  position: number | null
  /** The types of events that it wants; null: all. */
  types: string[] | null
  /** Not told yet. */
  gap: Gap | null
}

export interface SubscriptionRecord extends SubscriptionKey, Standing {
  gaps: number
  dropped: number
  servedBy: string | null
  /** How long ago; null: never. */
  servedMs: number | null
  /** Rows that were not delivered yet; ids are counted, so there may be fewer. */
  lag: number
  /** The age of the oldest of them. */
  lagMs: number
}

export interface NewSubscription extends SubscriptionKey {
  types: string[] | null
  /** Null: from when every change knows of it, see `beginSubscription`. */
  position: number | null
  actor: string
}

/** Does nothing if it is there. Answers whether it was created. */
export async function subscribe(database: Database, given: NewSubscription): Promise<boolean> {
  const { name, source, types, position, actor } = given
  const rows = await database.query<{ created: boolean }>(
    null,
    'select carillon.subscribe($1, $2, $3, $4, $5, $6) created',
    [name, source, types, position, actor, database.now],
  )
  return rows[0]!.created
}

/** Ends it, whatever it was subscribed to. Answers whether there was one. */
export async function unsubscribe(database: Database, name: string, actor: string): Promise<boolean> {
  const rows = await database.query<{ ended: boolean }>(null, 'select carillon.unsubscribe($1, $2, $3) ended', [
    ...[name, actor, database.now],
  ])
  return rows[0]!.ended
}

/**
 * To be called when every transaction that was under way at its creation has ended: from now on all events are written. Where that
 * begins is an id of its own, larger than any that was given out before.
 */
export async function beginSubscription(database: Database, { name, source }: SubscriptionKey): Promise<void> {
  await database.query(
    'begin-subscription',
    `update carillon.subscriptions set position = nextval('carillon.events_event_id_seq')
     where name = $1 and source = $2 and position is null`,
    [name, source],
  )
}

const standing = 'position, types, gap_after "gapAfter", gap_up_to "gapUpTo"'

interface StandingRow {
  position: number | null
  types: string[] | null
  gapAfter: number | null
  gapUpTo: number | null
}

function standingOf({ position, types, gapAfter, gapUpTo }: StandingRow): Standing {
  return { position, types, gap: gapAfter === null ? null : { after: gapAfter, upTo: gapUpTo! } }
}

/** Says that the node serves it; answers where it stands, null if it is gone. */
export async function serveSubscription(
  database: Database,
  { name, source }: SubscriptionKey,
  node: string,
): Promise<Standing | null> {
  const rows = await database.query<StandingRow & Record<string, unknown>>(
    'serve-subscription',
    `update carillon.subscriptions set served_by = $3, served_at = coalesce($4, clock_timestamp())
     where name = $1 and source = $2 returning ${standing}`,
    [name, source, node, database.now],
  )
  return rows[0] === undefined ? null : standingOf(rows[0])
}

/**
 * What lies between the two ids has been delivered. A position never goes back: what one node has delivered, no other need. Null: the
 * subscription is gone, or has not come to `after`, because the database lost what it had committed.
 */
export async function movePosition(
  database: Database,
  { name, source }: SubscriptionKey,
  { after, upTo }: { after: number; upTo: number },
): Promise<Standing | null> {
  const rows = await database.query<StandingRow & Record<string, unknown>>(
    'move-subscription',
    `update carillon.subscriptions set position = greatest(position, $4)
     where name = $1 and source = $2 and position >= $3 returning ${standing}`,
    [name, source, after, upTo],
  )
  return rows[0] === undefined ? null : standingOf(rows[0])
}

/** The subscriber was told of this gap. One that has grown meanwhile stays. */
export async function closeGap(database: Database, { name, source }: SubscriptionKey, { upTo }: Gap): Promise<void> {
  await database.query(
    'close-gap',
    `update carillon.subscriptions set gap_after = null, gap_up_to = null
     where name = $1 and source = $2 and gap_up_to = $3`,
    [name, source, upTo],
  )
}

/** All of them, with how far they lag behind. Indexes: events_pkey, audit_pkey. */
export async function readSubscriptions(database: Database): Promise<SubscriptionRecord[]> {
  const rows = await database.query<StandingRow & Omit<SubscriptionRecord, keyof Standing>>(
    null,
    `select s.name, s.source, s.position, s.types, s.gap_after "gapAfter", s.gap_up_to "gapUpTo", s.gaps, s.dropped,
       s.served_by "servedBy", round(extract(epoch from n.now - s.served_at) * 1000)::float8 "servedMs",
       case when f.at is null then 0 else greatest(l.last_id - s.position, 1) end lag,
       case when f.at is null then 0 else greatest(extract(epoch from n.now - f.at) * 1000, 0) end::float8 "lagMs"
     from carillon.subscriptions s
     cross join (select coalesce($1, clock_timestamp()) now) n
     cross join lateral (
       select e.last_value last_id from carillon.events_event_id_seq e where s.source = 'EVENTS'
       union all select a.last_value from carillon.audit_audit_id_seq a where s.source = 'AUDIT') l
     left join lateral (
       (select e.at from carillon.events e where s.source = 'EVENTS' and e.event_id > s.position order by e.event_id limit 1)
       union all
       (select a.at from carillon.audit a where s.source = 'AUDIT' and a.audit_id > s.position order by a.audit_id limit 1)) f on true
     order by s.name, s.source desc`,
    [database.now],
  )
  return rows.map((row) => {
    const { name, source, gaps, dropped, servedBy, servedMs, lag, lagMs } = row
    return { ...standingOf(row), name, source, gaps, dropped, servedBy, servedMs, lag, lagMs }
  })
}
