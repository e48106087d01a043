import type { ExecutionState } from '../../domain/execution-state.ts'
import type { Database } from '../database.ts'

/** The execution of a job with the latest nominal time. */
export interface LatestExecution {
  executionId: string
  state: ExecutionState
  startedAt: number | null
}

/** By job id; a job that never fired is left out. Index: executions_job, newest partition first. */
export async function readLatest(database: Database, jobIds: string[]): Promise<Map<string, LatestExecution>> {
  if (jobIds.length === 0) return new Map()
  const rows = await database.query<LatestExecution & { jobId: string }>(
    'read-latest',
    `select i.job_id "jobId", e.execution_id "executionId",
       coalesce(e.state, case when r.execution_id is not null then 'RUNNING' end, t.state, 'PENDING') state,
       carillon.ms(case when e.state is not null then e.started_at else r.leased_at end) "startedAt"
     from unnest($1::uuid[]) i(job_id)
     cross join lateral (
       select x.* from carillon.executions x
       where x.job_id = i.job_id and x.job_id <> x.execution_id order by x.execution_id desc limit 1) e
     left join lateral carillon.held(e.*) r on true
     left join carillon.retries t on t.execution_id = case when e.state is null then e.execution_id end`,
    [jobIds],
  )
  return new Map(rows.map(({ jobId, ...latest }) => [jobId, latest]))
}
