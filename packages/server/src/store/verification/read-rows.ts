/** Rows of the ledger, in pages by id: what is wrong with them in themselves, and the ids to compute again. See functions/verification/verify_rows.sql. */
import type { Database } from '../database.ts'

/** What the database finds wrong with a row; see domain words in the contract. */
export type RowFault =
  | 'ROW_GONE'
  | 'JOB_GONE'
  | 'STATE'
  | 'TIMES'
  | 'ATTEMPTS'
  | 'SKIP_REASON'
  | 'SAME_FENCE'
  | 'NO_HOLDER'
  | 'ATTEMPT_OVERDUE'
  | 'WORKER_LOST'
  | 'RETRY_OVERDUE'
  | 'START_OVERDUE'
  | 'DEADLINE_PASSED'
  | 'WAITS_FOR_NOTHING'
  | 'NOT_FIRED'

export interface CheckedRow {
  id: string
  jobId: string
  tenant: string
  nominal: number
  origin: string | null
  /** It fires once, or has: then its job's own id may be the right one. */
  once: boolean
  /** Null: only its id is still to be computed again. */
  why: RowFault | null
}

export interface RowsPage {
  rows: CheckedRow[]
  /** Executions that have not ended. */
  open: number
  /** The last row that was walked over. Null: there are no more. */
  last: string | null
}

export interface RowsScope {
  /** Null: every tenant. */
  tenant: string | null
  /** Null: all of them. */
  jobId: string | null
  /** Exclusive. */
  afterId: string
  /** Exclusive. */
  beforeId: string
  limit: number
  /** A worker silent for that long is lost. Null: not known. */
  lostMs: number | null
}

export async function readRows(database: Database, scope: RowsScope): Promise<RowsPage> {
  const { tenant, jobId, afterId, beforeId, limit, lostMs } = scope
  const rows = await database.query<CheckedRow & { last: string | null; walked: number; open: number }>(
    'verify-rows',
    `select last_id "last", walked, open, id, job_id "jobId", tenant, nominal, origin, once, why
     from carillon.verify_rows($1, $2, $3, $4, $5, $6, $7)`,
    [tenant, jobId, afterId, beforeId, limit, lostMs, database.now],
  )
  const { walked, open, last } = rows[0]!
  return { rows: rows.filter(({ id }) => id !== null), open, last: walked < limit ? null : last }
}
