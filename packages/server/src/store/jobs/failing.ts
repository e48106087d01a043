import type { Database } from '../database.ts'

export interface FailingJob {
  tenant: string
  jobId: string
  /** Dead letters in a row. */
  failures: number
}

/**
 * Of the jobs of these executions, the active ones that have reached their
 * `pauseAfterFailures`. The failures are counted from the newest executions. SKIPPED and CANCELLED ones do not count, and at
 * most a thousand of them are passed over; nor does what ended before the job was last changed or resumed. Locks: none. Indexes: executions_pkey, jobs_by_id, executions_job.
 */
export function readFailing(database: Database, executionIds: string[]): Promise<FailingJob[]> {
  return database.query<FailingJob>(
    'read-failing',
    `select j.tenant, j.job_id "jobId", p.failures
     from (select distinct e.job_id from unnest($1::uuid[]) i(execution_id)
           join carillon.executions e on e.execution_id = i.execution_id) died
     join carillon.jobs j on j.job_id = died.job_id and j.state = 'ACTIVE'
     cross join lateral (select (j.policy ->> 'pauseAfterFailures')::int failures) p
     where p.failures = (
       select count(*) from (
         select seen.state from (
           select e.execution_id, e.state, e.finished_at from carillon.executions e
           where e.job_id = j.job_id and e.job_id <> e.execution_id
           order by e.execution_id desc limit p.failures + 1000) seen
         where seen.state in ('SUCCEEDED', 'DEAD') and seen.finished_at > j.updated_at order by seen.execution_id desc limit p.failures) ended
       where ended.state = 'DEAD')`,
    [executionIds],
  )
}
