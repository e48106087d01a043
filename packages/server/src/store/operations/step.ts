/**
 * Steps of operations. Each names the fence of the node that took it up. See functions/operations/operate.sql, copy.sql and
 * backfill.sql.
 */
import type { Fill } from '../../domain/schedule/backfill.ts'
import { bigints, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import { type QueuedWork, queuedOf } from '../rows.ts'
import type { OperationRecord } from './operations.ts'

/** How far a step has come. */
export interface Step {
  operation: OperationRecord
  ids: string[]
  /** Null: where it was. */
  position: string | null
  /** Nothing is left but what is open. */
  over: boolean
  /** Before the next step. */
  delayMs: number
}

export interface Flagged {
  executionId: string
  workerId: string
  fence: number
}

/** Answers what runs and was told to stop. */
export async function stepCancel(database: Database, step: Step, what: string): Promise<Flagged[]> {
  const rows = await database.query<{ execution_id: string; worker_id: string; fence: number }>(
    'step-cancel',
    'select * from carillon.operate_cancel($1,$2,$3,$4,$5,$6,$7,$8,$9)',
    [...valuesOf(step), what, step.operation.createdBy, database.now],
  )
  return rows.map((row) => ({ executionId: row.execution_id, workerId: row.worker_id, fence: row.fence }))
}

/** Returns how many were replayed. */
export async function stepRetry(database: Database, step: Step): Promise<number> {
  const rows = await database.query<{ n: number }>(
    'step-retry',
    'select carillon.operate_retry($1,$2,$3,$4,$5,$6,$7,$8) n',
    [...valuesOf(step), step.operation.createdBy, database.now],
  )
  return rows[0]!.n
}

export async function stepPurge(database: Database, step: Step): Promise<void> {
  await database.query('step-purge', 'select carillon.operate_purge($1,$2,$3,$4,$5,$6,$7)', [
    ...valuesOf(step),
    database.now,
  ])
}

/** Of these, what can be copied, in their order. */
export async function readCopyable(
  database: Database,
  ids: string[],
): Promise<{ executionId: string; lane: number }[]> {
  const rows = await database.query<{ execution_id: string; lane: number }>(
    'read-copyable',
    'select * from carillon.read_copyable($1)',
    [uuids(ids)],
  )
  return rows.map((row) => ({ executionId: row.execution_id, lane: row.lane }))
}

export interface CopyStep extends Omit<Step, 'ids'> {
  /** The originals, the ids of their copies and their places in the queue. */
  copies: { source: string; executionId: string; tag: number }[]
  /** How many are left alone beside them. */
  passed: number
  /** What the queue tables call the pool. */
  pool: string
  at: number
}

/** Answers which copies were created, and what became ready. */
export async function stepCopy(
  database: Database,
  step: CopyStep,
): Promise<{ created: string[]; queued: QueuedWork[] }> {
  const { operation, copies, passed, pool, at, position, over, delayMs } = step
  const rows = await database.query<{ created: string[]; queued: [string, number, number, number][] | null }>(
    'step-copy',
    'select * from carillon.operate_copy($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)',
    [
      ...[operation.operationId, operation.fence, uuids(copies.map(({ source }) => source))],
      ...[uuids(copies.map(({ executionId }) => executionId)), bigints(copies.map(({ tag }) => tag)), passed, pool, at],
      ...[position, over, delayMs, operation.createdBy, database.now],
    ],
  )
  return { created: rows[0]?.created ?? [], queued: queuedOf(rows[0]?.queued ?? null) }
}

/** Skips what cannot be processed; `ids` stay open. */
export async function stepOver(database: Database, step: Step, passed: number): Promise<void> {
  await database.query('step-over', 'select carillon.operate_over($1,$2,$3,$4,$5,$6,$7,$8)', [
    ...valuesOf(step),
    passed,
    database.now,
  ])
}

export interface BackfillStep extends Omit<Step, 'ids'> {
  jobId: string
  version: number
  fills: Fill[]
  open: string[]
  passed: number
  /** Before the next step, if this one has to wait. */
  waitMs: number
}

export type BackfillOutcome = 'DONE' | 'WAIT' | 'AGAIN' | 'SPENT' | 'LOST'

export async function stepBackfill(database: Database, step: BackfillStep): Promise<BackfillOutcome> {
  const { operation, jobId, version, fills, open, passed, position, over, delayMs, waitMs } = step
  const rows = await database.query<{ outcome: BackfillOutcome }>(
    'step-backfill',
    'select carillon.backfill($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13) outcome',
    [
      ...[operation.operationId, operation.fence, jobId, version, JSON.stringify(fills), open, passed, position, over],
      ...[delayMs, waitMs, operation.createdBy, database.now],
    ],
  )
  return rows[0]!.outcome
}

function valuesOf({ operation, ids, position, over, delayMs }: Step): unknown[] {
  return [operation.operationId, operation.fence, ids, position, over, delayMs]
}
