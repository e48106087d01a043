import type { JobState } from '@carillon/contract'
import type { Database } from '../database.ts'
import type { JobRecord, JobRow } from '../rows.ts'

export interface JobChange {
  /** A new definition; null keeps the version. */
  definition: JobRow | null
  state: JobState
  nominal: number | null
  due: number | null
  /** The unfinished executions, when the job begins to limit overlap. */
  live: string[] | null
  /** Occurrences the change removes. */
  skipped: { id: string; nominal: number; due: number; reason: string; last: number | null; count: number | null }[]
}

/** False: the job fired or was changed since `seen` was read; read it again. See functions/change_job.sql. */
export async function changeJob(database: Database, seen: JobRecord, change: JobChange): Promise<boolean> {
  const rows = await database.query<{ changed: boolean }>(
    'change-job',
    'select carillon.change_job($1,$2,$3,$4,$5,$6,$7,$8,$9,$10) changed',
    [
      seen.definition.job_id,
      seen.version,
      seen.due,
      change.definition === null ? null : JSON.stringify(change.definition),
      change.state,
      change.nominal,
      change.due,
      change.live,
      change.skipped.length === 0 ? null : JSON.stringify(change.skipped),
      database.now,
    ],
  )
  return rows[0]!.changed
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
       and ($2 or not exists (select from carillon.running r where r.execution_id = e.execution_id))
     order by e.execution_id`,
    [jobId, options.running],
  )
  return rows.map((row) => row.execution_id)
}
