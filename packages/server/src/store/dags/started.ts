/** Runs that executions start: what such an execution is given, how it takes up its run, and what a run has come to. */
import type { DagRunStep } from '@carillon/contract'
import type { Database } from '../database.ts'

/** The step that an execution is, in the run it belongs to. */
export interface ParentStep {
  number: number
  /** Members of a JSON object. */
  inputs: string | null
  runName: string
  /** JSON text, as are the steps. */
  payload: string | null
  steps: string
  fanOut: boolean
  paused: boolean
  dagId: string | null
  ancestors: string[] | null
}

/** Null: the execution is no step. Indexes: executions_pkey, dag_steps_pkey, dag_runs_pkey. */
export async function readParentStep(database: Database, executionId: string): Promise<ParentStep | null> {
  const rows = await database.query<ParentStep>(
    'read-parent-step',
    `select s.number, e.inputs, r.name "runName", r.payload, r.steps, r.fan_out "fanOut", r.paused, r.dag_id "dagId", r.ancestors
     from carillon.executions e join carillon.dag_steps s on s.execution_id = e.execution_id
     join carillon.dag_runs r on r.execution_id = e.job_id where e.execution_id = $1 and e.origin = 'DAG'`,
    [executionId],
  )
  return rows[0] ?? null
}

/** See functions/dags/change_run.sql. Null: there is no such run yet. */
export async function takeRun(
  database: Database,
  { runId, executionId, fence }: { runId: string; executionId: string; fence: number },
): Promise<'RUNNING' | 'ENDING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | null> {
  const rows = await database.query<{ verdict: 'RUNNING' | 'ENDING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | null }>(
    'take-dag-run',
    'select carillon.take_run($1, $2, $3) verdict',
    [runId, executionId, fence],
  )
  return rows[0]!.verdict
}

/**
 * What the last steps of a run have returned, those that nothing depends on, by their numbers; of a fan-out all. JSON texts. Null: they are
 * larger than `bytes` together. Indexes: executions_job, dag_steps_pkey.
 */
export async function readRunResults(
  database: Database,
  runId: string,
  bytes: number,
): Promise<{ name: string; result: string | null }[] | null> {
  const last = `carillon.executions_of_run($1) e join carillon.dag_steps s on s.execution_id = e.execution_id and s.children = '{}'`
  const [size] = await database.query<{ bytes: number }>(
    'read-dag-run-result-size',
    `select coalesce(sum(octet_length(e.name) + octet_length(coalesce(e.result, 'null')) + 4), 0)::float8 bytes from ${last}`,
    [runId],
  )
  if (size!.bytes > bytes) return null
  return database.query('read-dag-run-results', `select e.name, e.result from ${last} order by s.number`, [runId])
}

/** Of a run, the step that failed first. */
export interface FirstFailure {
  name: string
  state: string
  reason: string | null
  error: DagRunStep['error']
}

/** Index: executions_job. */
export async function readFirstFailure(database: Database, runId: string): Promise<FirstFailure | null> {
  const rows = await database.query<FirstFailure>(
    'read-first-failure',
    `select e.name, e.state, e.reason, e.error
     from carillon.executions_of_run($1) e join carillon.dag_steps s on s.execution_id = e.execution_id
     where not s.allow_failure and (e.state in ('DEAD', 'CANCELLED') or e.state = 'SKIPPED'
       and e.reason not in ('CONDITION_FALSE', 'DEPENDENCY_SKIPPED', 'DEPENDENCY_FAILED'))
     order by e.finished_at, e.execution_id limit 1`,
    [runId],
  )
  return rows[0] ?? null
}
