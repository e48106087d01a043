import type { FailureState } from '../../domain/execution-state.ts'
import type { Database } from '../database.ts'

export interface ReportedError {
  name: string
  message: string
  stack?: string
}

/** How an attempt ended, decided: what the ledger shall say. */
export interface AttemptEnd {
  executionId: string
  fence: number
  outcome: 'SUCCEEDED' | FailureState | 'CANCELLED' | 'HANDED_BACK' | 'COMPLETED_IN_TRANSACTION'
  next: 'RETRY' | 'DEAD' | null
  reason: string | null
  retryAt: number | null
  startedAt: number | null
  result: string | null
  error: ReportedError | null
  progress: string | null
  log: string | null
  actor: string
}

export type AttemptVerdict = 'ACCEPTED' | 'REFUSED' | 'BUSY'

export interface Reported {
  /** In the order of the input. BUSY: the row is locked, report again. */
  verdicts: AttemptVerdict[]
  ended: string[]
  /** The earliest time at which something comes back. */
  retryDue: number | null
}

/** See functions/report.sql. No id may be named twice. */
export async function report(database: Database, ends: AttemptEnd[]): Promise<Reported> {
  const rows = await database.query<{ verdicts: AttemptVerdict[]; ended: string[] | null; retry_due: number | null }>(
    'report',
    'select * from carillon.report($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)',
    [
      ends.map((e) => e.executionId),
      ends.map((e) => e.fence),
      ends.map((e) => e.outcome),
      ends.map((e) => e.next),
      ends.map((e) => e.reason),
      ends.map((e) => e.retryAt),
      ends.map((e) => (e.startedAt === null ? null : Math.round(e.startedAt))),
      ends.map((e) => e.result),
      ends.map((e) => (e.error === null ? null : JSON.stringify(e.error))),
      ends.map((e) => e.progress),
      ends.map((e) => e.log),
      ends.map((e) => e.actor),
      database.now,
    ],
  )
  const row = rows[0]!
  return { verdicts: row.verdicts, ended: row.ended ?? [], retryDue: row.retry_due }
}
