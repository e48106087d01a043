import type { Database } from '../database.ts'
import type { BadRow } from './set-aside.ts'

/** Rows due `lateMs` ago or earlier that no duty will ever move, at most `limit` of each kind. See functions/quarantine.sql. */
export function findStuck(database: Database, { lateMs, limit }: { lateMs: number; limit: number }): Promise<BadRow[]> {
  return database.query<BadRow & Record<string, unknown>>(
    'find-stuck',
    `select source, key, code, message from carillon.find_stuck($1 * interval '1 millisecond', $2, $3)`,
    [lateMs, limit, database.now],
  )
}
