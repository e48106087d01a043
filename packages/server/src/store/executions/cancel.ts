import type { Database } from '../database.ts'

export interface Cancelled {
  executionId: string
  /** FLAGGED: it runs; the worker is told and the end comes through its report or the sweeper. */
  verdict: 'CANCELLED' | 'FLAGGED' | 'ENDED' | 'UNKNOWN'
  workerId: string | null
  fence: number | null
}

export async function cancel(
  database: Database,
  ids: string[],
  why: { reason: string; actor: string },
): Promise<Cancelled[]> {
  const rows = await database.query<{
    execution_id: string
    verdict: Cancelled['verdict']
    worker_id: string | null
    fence: number | null
  }>('cancel', 'select * from carillon.cancel($1, $2, $3, $4)', [ids, why.reason, why.actor, database.now])
  return rows.map((r) => ({
    executionId: r.execution_id,
    verdict: r.verdict,
    workerId: r.worker_id,
    fence: r.fence,
  }))
}
