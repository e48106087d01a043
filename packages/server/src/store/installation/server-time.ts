import type { Database } from '../database.ts'

/** PostgreSQL's time, milliseconds since 1970. */
export async function readServerTime(database: Database): Promise<number> {
  const sql = 'select carillon.ms(coalesce($1, clock_timestamp())) now'
  const rows = await database.query<{ now: number }>('read-server-time', sql, [database.now])
  return rows[0]!.now
}
