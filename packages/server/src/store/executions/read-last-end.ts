import type { Database } from '../database.ts'

export interface LastEnd {
  executionId: string
  state: 'SUCCEEDED' | 'DEAD' | 'CANCELLED'
  finishedAt: number
}

/** Of a job, the execution that ended last, among the newest ones; what was SKIPPED did not run. Indexes: executions_job, executions_pkey. */
export async function readLastEnd(database: Database, tenant: string, jobId: string): Promise<LastEnd | null> {
  const rows = await database.query<LastEnd & Record<string, unknown>>(
    'read-last-end',
    `select x.execution_id "executionId", x.state, carillon.ms(x.finished_at)::float8 "finishedAt"
     from (
       (select e.execution_id, e.state, e.finished_at, e.tenant from carillon.executions e
        where e.job_id = $2 and e.job_id <> e.execution_id order by e.execution_id desc limit 100)
       union all
       select e.execution_id, e.state, e.finished_at, e.tenant from carillon.executions e where e.execution_id = $2) x
     where x.tenant = $1 and x.state in ('SUCCEEDED', 'DEAD', 'CANCELLED') order by x.finished_at desc limit 1`,
    [tenant, jobId],
  )
  return rows[0] ?? null
}
