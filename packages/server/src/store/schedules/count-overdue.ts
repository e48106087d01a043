import type { Database } from '../database.ts'

/** How many schedules should have fired this long ago, counted up to `most`. Index: schedules_due. */
export async function countOverdue(
  database: Database,
  { byMs, now, most }: { byMs: number; now: number; most: number },
): Promise<number> {
  const rows = await database.query<{ count: number }>(
    'count-overdue',
    `select count(*) from (select from carillon.schedules s where s.due < carillon.at($1) order by s.due limit $2) late`,
    [Math.floor(now - byMs), most],
  )
  return rows[0]!.count
}
