import type { Database } from '../database.ts'

export interface Trigger {
  jobId: string
  executionId: string
  at: number
  tag: number
  /** JSON text instead of the job's own payload. */
  payload: string | null
  traceparent: string | null
}

export type TriggerVerdict = 'READY' | 'WAIT' | 'SKIP' | null

export async function triggerJob(database: Database, trigger: Trigger): Promise<TriggerVerdict> {
  const rows = await database.query<{ verdict: TriggerVerdict }>(
    'trigger-job',
    'select carillon.trigger_job($1, $2, $3, $4, $5, $6, $7) verdict',
    [trigger.jobId, trigger.executionId, trigger.at, trigger.tag, trigger.payload, trigger.traceparent, database.now],
  )
  return rows[0]!.verdict
}
