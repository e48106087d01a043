import type { HeldExecution, ReportedError, ReportVerdict } from '@carillon/contract'
import type { FailureState } from '../../domain/execution-state.ts'
import { bigints, jsonbs, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

/** The outcome of an attempt with the decision about the execution. */
export interface AttemptEnd extends HeldExecution {
  outcome: 'SUCCEEDED' | FailureState | 'CANCELLED' | 'HANDED_BACK' | 'COMPLETED_IN_TRANSACTION'
  /** RETRY_UNBEGUN: only if its handler has not begun by then; else it is BUSY, and to be looked at again. */
  next: 'RETRY' | 'RETRY_UNBEGUN' | 'DEAD' | null
  reason: string | null
  retryAt: number | null
  startedAt: number | null
  result: string | null
  error: ReportedError | null
  progress: string | null
  log: string | null
  actor: string
}

export type AttemptVerdict = ReportVerdict

export interface Reported {
  /** In the order of the input. BUSY: the row is locked, report again. */
  verdicts: ReportVerdict[]
  ended: string[]
  /** The earliest time at which an execution returns to the queue. */
  retryDue: number | null
  /** Shards of runs of which something waits for nothing more. */
  released: number[]
}

/** See functions/ends/report.sql. No id may be named twice. */
export async function report(database: Database, ends: AttemptEnd[]): Promise<Reported> {
  const rows = await database.query<{
    verdicts: ReportVerdict[] | null
    ended: string[] | null
    retry_due: number | null
    released: number[] | null
  }>('report', 'select * from carillon.report($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)', [
    uuids(ends.map((e) => e.executionId)),
    bigints(ends.map((e) => e.fence)),
    ends.every((e) => e.outcome === 'SUCCEEDED') ? null : texts(ends.map((e) => e.outcome)),
    texts(ends.map((e) => e.next)),
    texts(ends.map((e) => e.reason)),
    bigints(ends.map((e) => e.retryAt)),
    bigints(ends.map((e) => (e.startedAt === null ? null : Math.round(e.startedAt)))),
    texts(ends.map((e) => e.result)),
    jsonbs(ends.map((e) => (e.error === null ? null : JSON.stringify(e.error)))),
    texts(ends.map((e) => e.progress)),
    texts(ends.map((e) => e.log)),
    texts(ends.map((e) => e.actor)),
    database.now,
  ])
  const { verdicts, ended, retry_due: retryDue, released } = rows[0]!
  const told = { retryDue, released: released ?? [] }
  if (verdicts !== null) return { verdicts, ended: ended ?? [], ...told }
  return { verdicts: ends.map(() => 'ACCEPTED'), ended: ends.map((e) => e.executionId), ...told }
}
