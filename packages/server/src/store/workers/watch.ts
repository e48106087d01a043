import type { Database } from '../database.ts'

/** See functions/workers/extend_watch.sql. `from`: as the last call answered it; null at first. */
export async function extendWatch(
  database: Database,
  { from, gapMs, now }: { from: number | null; gapMs: number; now: Date | null },
): Promise<{ nextFrom: number; watchedMs: number }> {
  const rows = await database.query<{ next_from: number; watched_ms: number }>(
    'extend-watch',
    'select next_from, watched_ms from carillon.extend_watch($1, $2, $3)',
    [from, gapMs, now],
  )
  return { nextFrom: rows[0]!.next_from, watchedMs: rows[0]!.watched_ms }
}
