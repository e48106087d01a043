/** What the ledger has of jobs' occurrences, for the comparison with their schedules. See functions/verification/verify.sql. */
import { firstIdAt } from '../../domain/identity.ts'
import type { Database } from '../database.ts'

export interface LedgerEntry {
  id: string
  nominal: number
  origin: string
  state: string | null
  reason: string | null
  /** The last of those it stands for. Null: only for its own. */
  last: number | null
  /** How many it stands for. Null: only for its own. */
  count: number | null
  /** Of its job. Null: the job fires once. */
  version: number | null
  dueAt: number
  firedAt: number
}

/** A SKIPPED row that stands for several occurrences: up to which, and why. */
export interface Reach {
  id: string
  nominal: number
  last: number
  reason: string
  version: number | null
  firedAt: number
}

/** Nominal times from `low` on and before `high`. */
export interface Window {
  jobId: string
  low: number
  high: number
}

/** The rows of these windows in their order, each by id; at most `limit` in all, so the last ones may be missing. */
export async function readLedger(
  database: Database,
  windows: Window[],
  limit: number,
): Promise<(LedgerEntry & { jobId: string })[]> {
  if (windows.length === 0) return []
  return database.query(
    'verify-ledger',
    `select job_id "jobId", id, nominal, origin, state, reason, "last", "count", version, due_at "dueAt", fired_at "firedAt"
     from carillon.verify_ledger($1, $2, $3, $4)`,
    [
      windows.map(({ jobId }) => jobId),
      windows.map(({ low }) => firstIdAt(low)),
      windows.map(({ high }) => firstIdAt(high)),
      limit,
    ],
  )
}

/** The last SKIPPED row before each window that stands for several occurrences, by job. */
export async function readReaches(database: Database, windows: Window[]): Promise<Map<string, Reach>> {
  if (windows.length === 0) return new Map()
  const rows = await database.query<Reach & { jobId: string }>(
    'verify-reaches',
    `select job_id "jobId", id, nominal, "last", reason, version, fired_at "firedAt"
     from carillon.verify_reaches($1, $2)`,
    [windows.map(({ jobId }) => jobId), windows.map(({ low }) => firstIdAt(low))],
  )
  return new Map(rows.map(({ jobId, ...reach }) => [jobId, reach]))
}
