import type { Database } from '../database.ts'

/** The workers whose row says that they were silent for this long. Small table, read whole. */
export async function readSilent(database: Database, silentMs: number): Promise<string[]> {
  const rows = await database.query<{ worker_id: string }>(
    'read-silent',
    `select worker_id from carillon.workers
     where seen_at < coalesce($2, clock_timestamp()) - $1 * interval '1 millisecond'`,
    [silentMs, database.now],
  )
  return rows.map((row) => row.worker_id)
}
