import type { Database } from '../database.ts'

export interface PruneBounds {
  /** For listeners that come back. */
  keptMs: number
  /** What a subscription does not have yet is kept for as long as this, and no more ids than this. */
  undeliveredMs: number
  undeliveredMost: number
}

/** Dropped before the subscription had them. */
export interface Dropped {
  subscription: string
  after: number
  upTo: number
  events: number
}

/** Removes the oldest events, of `limit`. See functions/events/subscriptions.sql. */
export async function pruneEvents(
  database: Database,
  { keptMs, undeliveredMs, undeliveredMost }: PruneBounds,
  limit: number,
): Promise<{ removed: number; dropped: Dropped[] }> {
  const rows = await database.query<{ removed: number; gaps: DroppedRow[] | null }>(
    'prune-events',
    `select removed, gaps from carillon.prune_events(
       $1, $2 * interval '1 millisecond', $3 * interval '1 millisecond', $4, $5)`,
    [limit, keptMs, undeliveredMs, undeliveredMost, database.now],
  )
  const { removed, gaps } = rows[0]!
  const dropped = (gaps ?? []).map(({ name, after, up_to, dropped }) => ({
    ...{ subscription: name, after, upTo: up_to, events: dropped },
  }))
  return { removed, dropped }
}

interface DroppedRow {
  name: string
  after: number
  up_to: number
  dropped: number
}

/** Removes tenants without listeners. */
export async function forgetListeners(database: Database): Promise<void> {
  await database.query(
    'forget-listeners',
    'delete from carillon.event_listeners where until < coalesce($1, clock_timestamp())',
    [database.now],
  )
}
