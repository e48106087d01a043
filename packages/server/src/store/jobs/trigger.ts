import type { Database } from '../database.ts'
import { type AnswerEntry, AnsweredBefore } from '../idempotency/answers.ts'

export interface Trigger {
  jobId: string
  /** The version that was read. */
  version: number
  executionId: string
  at: number
  tag: number
  /** JSON text instead of the job's own payload. */
  payload: string | null
  traceparent: string | null
  actor: string
  entry: AnswerEntry | null
}

/** AGAIN: the job was changed or removed since it was read. */
export type TriggerVerdict = 'READY' | 'WAIT' | 'SKIP' | 'AGAIN'

/** Throws AnsweredBefore. See functions/jobs/trigger_once.sql. */
export async function triggerJob(database: Database, trigger: Trigger): Promise<TriggerVerdict> {
  const rows = await database.query<{ verdict: TriggerVerdict | 'ANSWERED' }>(
    'trigger-once',
    'select carillon.trigger_once($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) verdict',
    [
      trigger.entry && JSON.stringify(trigger.entry),
      trigger.actor,
      trigger.jobId,
      trigger.version,
      trigger.executionId,
      trigger.at,
      trigger.tag,
      trigger.payload,
      trigger.traceparent,
      database.now ?? new Date(trigger.at), // what is answered is what is stored
    ],
  )
  const { verdict } = rows[0]!
  if (verdict === 'ANSWERED') throw new AnsweredBefore()
  return verdict
}
