/** Executions that should have ended, or moved on, and have not. See functions/verification/past_time.sql. */
import type { Database } from '../database.ts'
import type { RowFault } from './read-rows.ts'

export interface PastTime {
  executionId: string
  jobId: string
  tenant: string
  scheduledFor: number
  why: RowFault
}

/** At most `limit`. `lostMs`: a worker silent for that long is lost; null: no worker counts as lost. */
export async function readPastTime(
  database: Database,
  { lostMs, limit }: { lostMs: number | null; limit: number },
): Promise<PastTime[]> {
  return database.query<{ executionId: string; jobId: string; tenant: string; scheduledFor: number; why: RowFault }>(
    'read-past-time',
    `select execution_id "executionId", job_id "jobId", tenant, scheduled_for "scheduledFor", why
     from carillon.past_time($1, $2, $3)`,
    [lostMs, limit, database.now],
  )
}
