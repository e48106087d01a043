/** What metrics say of runs. */
import { uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

export interface RunFigureRow {
  /** The name of its graph; null: it had steps of its own. */
  dag: string | null
  state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  durationMs: number
}

/** Of these, those that have ended; without those over the items of a list. Index: dag_runs_pkey. */
export async function readEndedRuns(database: Database, runIds: string[]): Promise<RunFigureRow[]> {
  return database.query<RunFigureRow & Record<string, unknown>>(
    'read-ended-runs',
    `select case when r.dag_id is not null then r.name end dag, r.state,
       (carillon.ms(r.finished_at) - carillon.ms(r.created_at))::float8 "durationMs"
     from unnest($1::uuid[]) i(id) join carillon.dag_runs r on r.execution_id = i.id
     where r.state is not null and not r.fan_out`,
    [uuids(runIds)],
  )
}

/** When these steps began to wait again because their runs were retried; not those whose runs never were. Index: executions_pkey. */
export async function readRetriedAt(
  database: Database,
  ids: string[],
): Promise<{ executionId: string; retriedAt: number }[]> {
  return database.query(
    'read-retried-at',
    `select e.execution_id "executionId", max((h.entry ->> 'at')::float8) "retriedAt"
     from unnest($1::uuid[]) i(id) join carillon.executions e on e.execution_id = i.id
     cross join lateral jsonb_array_elements(e.history) h(entry)
     where h.entry ->> 'to' = 'BLOCKED' group by e.execution_id`,
    [uuids(ids)],
  )
}

export type BlockedPlace = 'blocked' | 'released' | 'queued' | 'paused' | 'held_back'

export interface RunDepths {
  /** Unfinished runs; without those over the items of a list. */
  runs: { state: 'running' | 'paused'; count: number }[]
  steps: { where: BlockedPlace; count: number }[]
  /** Milliseconds since 1970; null: there is none. */
  oldestSince: number | null
}

/** Counted. */
const most = 10_000

/** See functions/reads/read_run_depths.sql. */
export async function readRunDepths(database: Database): Promise<RunDepths> {
  const [row] = await database.query<RunDepths>('read-run-depths', 'select * from carillon.read_run_depths($1)', [most])
  return row!
}
