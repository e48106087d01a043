import { CarillonError, type JobState } from '@carillon/contract'
import type { Database } from '../database.ts'
import { type AnswerEntry, AnsweredBefore } from '../idempotency/answers.ts'
import type { JobRecord } from '../rows.ts'
import { type JobDefinition, jobRowOf } from './definition.ts'

export interface JobChange {
  /** A new definition; null keeps the version. */
  definition: JobDefinition | null
  state: JobState
  nominal: number | null
  due: number | null
  /** The unfinished executions, when the job begins to limit overlap. */
  live: string[] | null
  /** Occurrences the change removes. */
  skipped: { id: string; nominal: number; due: number; reason: string; last: number | null; count: number | null }[]
  /** What was taken for now: `skipped` has what had passed by then. Left out: nothing depends on it. */
  computedAt?: number
}

/** Who changed it, for the audit. */
export interface AuditNote {
  actor: string
  /** Such as `job.updated`. */
  action: string
  /** Kept beside the version. */
  detail?: object
}

/**
 * False: the job fired or was changed since `seen` was read; read it again. `entry`: the request that asks for it, answered
 * once; throws AnsweredBefore. See functions/jobs/change_job.sql.
 */
export async function changeJob(
  database: Database,
  seen: JobRecord,
  change: JobChange,
  audit: AuditNote | null = null,
  entry: AnswerEntry | null = null,
): Promise<boolean> {
  try {
    const rows = await database.query<{ changed: boolean }>(
      'change-job',
      `select case when changed then true else not carillon.unclaim_answer($13) end changed from (
         select carillon.change_job($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$14,$15) changed
         where carillon.claim_answer($13, $12) offset 0) done`,
      [
        seen.definition.jobId,
        seen.version,
        seen.state,
        seen.due,
        change.definition === null ? null : JSON.stringify(jobRowOf(change.definition)),
        change.state,
        change.nominal,
        change.due,
        change.live,
        change.skipped.length === 0 ? null : JSON.stringify(change.skipped),
        audit === null ? null : JSON.stringify(audit),
        database.now,
        entry && JSON.stringify(entry),
        change.computedAt ?? null,
        seen.nominal,
      ],
    )
    if (rows.length === 0) throw new AnsweredBefore()
    return rows[0]!.changed
  } catch (error) {
    if ((error as { constraint?: string }).constraint !== 'jobs_key') throw error
    throw new CarillonError('STATE_CONFLICT', {
      pointer: '/key',
      message: `another job has the key ${change.definition?.key}`,
      hint: 'Choose another key, or change that job',
    })
  }
}

/**
 * The unfinished executions of a job, with or without those that run. Walks its part of executions_job: for edits and
 * deletes, not for hot paths.
 */
export async function readUnfinished(
  database: Database,
  jobId: string,
  options: { running: boolean },
): Promise<string[]> {
  const rows = await database.query<{ execution_id: string }>(
    'read-unfinished',
    `select e.execution_id from carillon.executions e
     where e.job_id = $1 and e.job_id <> e.execution_id and e.state is null
       and ($2 or carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is null)
     order by e.execution_id`,
    [jobId, options.running],
  )
  return rows.map((row) => row.execution_id)
}
