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

/** The unfinished executions of a job. Walks its part of executions_job: for edits and deletes, not for hot paths. */
export async function readUnfinished(database: Database, jobId: string): Promise<string[]> {
  const rows = await database.query<{ execution_id: string }>(
    'read-unfinished',
    `select execution_id from carillon.executions
     where job_id = $1 and job_id <> execution_id and state is null order by execution_id`,
    [jobId],
  )
  return rows.map((row) => row.execution_id)
}
