import type { QuarantineSource } from '@carillon/contract'
import type { Database } from '../database.ts'

/** A row of a queue, by its primary key; of a running row also the fence. */
export interface QueueRow {
  source: QuarantineSource
  key: Record<string, string | number>
  /** The execution it is about, if that is not in the key. */
  executionId?: string
}

export interface BadRow extends QueueRow {
  code: string
  message: string
}

/** SPARED: the partitions are at fault, not the row. */
export type SetAsideVerdict = 'SET_ASIDE' | 'GONE' | 'SPARED'

/** Moves rows into quarantine. Answers in their order. See functions/quarantine.sql. */
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
