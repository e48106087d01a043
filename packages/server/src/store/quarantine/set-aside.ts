import type { HeldExecution, QuarantineSource } from '@carillon/contract'
import type { Database } from '../database.ts'
import type { ReadyKey } from '../executions/lease.ts'

/** A row of a queue. The functions below make them. */
export interface QueueRow {
  source: QuarantineSource
  /** Columns of its primary key; of what is held execution_id and fence. */
  key: Record<string, string | number>
  /** The execution it is about, if that is not in the key. */
  executionId?: string
}

export function scheduleRow(jobId: string, executionId?: string): QueueRow {
  return { source: 'schedules', key: { job_id: jobId }, ...(executionId !== undefined && { executionId }) }
}

export function executionRow(source: 'retries' | 'submissions' | 'waiting', executionId: string): QueueRow {
  return { source, key: { execution_id: executionId } }
}

export function readyRow({ pool, lane, tag, executionId }: ReadyKey): QueueRow {
  return { source: 'ready', key: { pool, lane, tag, execution_id: executionId } }
}

export function heldRow({ executionId, fence }: HeldExecution): QueueRow {
  return { source: 'leases', key: { execution_id: executionId, fence } }
}

export function deadlineRow({ executionId, kind }: { executionId: string; kind: string }): QueueRow {
  return { source: 'deadlines', key: { execution_id: executionId, kind } }
}

export function operationRow(operationId: string): QueueRow {
  return { source: 'operations', key: { operation_id: operationId } }
}

export function eventRow(eventId: number): QueueRow {
  return { source: 'events', key: { event_id: eventId } }
}

export interface BadRow extends QueueRow {
  code: string
  message: string
}

/** SPARED: the partitions are at fault, not the row. */
export type SetAsideVerdict = 'SET_ASIDE' | 'GONE' | 'SPARED'

/** Moves rows into quarantine. Answers in their order. See functions/quarantine/quarantine.sql. */
export async function setAside(database: Database, call: string, rows: readonly BadRow[]): Promise<SetAsideVerdict[]> {
  if (rows.length === 0) return []
  const answer = await database.query<{ verdicts: SetAsideVerdict[] }>(
    'set-aside',
    'select carillon.set_aside($1, $2, $3::jsonb[], $4::uuid[], $5, $6, $7) verdicts',
    [
      call,
      rows.map(({ source }) => source),
      rows.map(({ key }) => JSON.stringify(key)),
      rows.map(({ key, executionId }) => executionId ?? key.execution_id ?? null),
      rows.map(({ code }) => code),
      rows.map(({ message }) => message.replaceAll('\u0000', '')),
      database.now,
    ],
  )
  return answer[0]!.verdicts
}
