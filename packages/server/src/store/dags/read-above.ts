import type { Database } from '../database.ts'

/** A run, and what has started it. */
export interface RunAbove {
  runId: string
  paused: boolean
  /** An execution; null: a request started it. */
  startedBy: string | null
}

/** More than runs can be inside each other. */
const mostRuns = 20

/** A run and those that it is inside of, innermost first. Empty: there is no such run. Indexes: dag_runs_pkey, executions_pkey. */
export async function readRunsAbove(database: Database, runId: string): Promise<RunAbove[]> {
  return database.query<RunAbove & Record<string, unknown>>(
    'read-runs-above',
    `with recursive above as (
       select 1 place, r.execution_id, r.paused, r.started_by from carillon.dag_runs r where r.execution_id = $1
       union all
       select a.place + 1, r.execution_id, r.paused, r.started_by from above a
       join carillon.executions e on e.execution_id = a.started_by and e.origin = 'DAG'
       join carillon.dag_runs r on r.execution_id = e.job_id where a.place < $2)
     select a.execution_id "runId", a.paused, a.started_by "startedBy" from above a order by a.place`,
    [runId, mostRuns],
  )
}
