import type { Database } from '../database.ts'
import type { BadRow } from './set-aside.ts'

/** Rows due `lateMs` ago or earlier that no duty will ever move, at most `limit` of each kind. See functions/quarantine/quarantine.sql. */
export function findStuck(database: Database, { lateMs, limit }: { lateMs: number; limit: number }): Promise<BadRow[]> {
  return database.query<BadRow & Record<string, unknown>>(
    'find-stuck',
    `select source, key, code, message from carillon.find_stuck($1 * interval '1 millisecond', $2, $3)`,
    [lateMs, limit, database.now],
  )
}

/** Of the first rows of each lane, those that cannot be leased. */
export function findUnusableReady(database: Database, pool: string, limit: number): Promise<BadRow[]> {
  return database.query<BadRow & Record<string, unknown>>(
    'find-unusable-ready',
    'select source, key, code, message from carillon.find_unusable_ready($1, $2)',
    [pool, limit],
  )
}

/** Of what these reports are about, the rows that keep it from coming back. */
export function findUnusableHeld(
  database: Database,
  held: readonly { executionId: string; fence: number }[],
): Promise<BadRow[]> {
  return database.query<BadRow & Record<string, unknown>>(
    'find-unusable-held',
    'select source, key, code, message from carillon.find_unusable_held($1, $2)',
    [held.map(({ executionId }) => executionId), held.map(({ fence }) => fence)],
  )
}

/** Of these submissions, those that cannot be fired. */
export function findUnusableSubmissions(database: Database, ids: string[]): Promise<BadRow[]> {
  return database.query<BadRow & Record<string, unknown>>(
    'find-unusable-submissions',
    'select source, key, code, message from carillon.find_unusable_submissions($1, $2)',
    [ids, database.now],
  )
}
