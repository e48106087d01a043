import type { Database } from '../database.ts'

export interface Replayed {
  executionId: string
  verdict: 'REPLAYED' | 'OVERLAP' | 'NOT_ENDED' | 'TOO_OLD' | 'STEP'
}

/** Each has a row in the audit; bulk work is replayed by functions/operations/operate.sql. */
export async function replay(database: Database, ids: string[], actor: string): Promise<Replayed[]> {
  const rows = await database.query<{ execution_id: string; verdict: Replayed['verdict'] }>(
    'replay-on-record',
    'select * from carillon.replay_on_record($1, $2, $3)',
    [ids, actor, database.now],
  )
  return rows.map((r) => ({ executionId: r.execution_id, verdict: r.verdict }))
}
