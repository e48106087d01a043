import type { Origin } from '@carillon/contract'
import type { ExecutionState } from '../../domain/execution-state.ts'
import type { Database } from '../database.ts'
import type { ReportedError } from './report.ts'

export interface HistoryEntry {
  at: number
  to: string
  actor?: string
  reason?: string
  attempt?: number
  fence?: number
  workerId?: string
  startedAt?: number
  error?: ReportedError
}

/** One line of the ledger, with the state that follows from where the row stands. Times in milliseconds. */
export interface ExecutionRecord {
  executionId: string
  jobId: string
  jobVersion: number | null
  tenant: string
  pool: string
  lane: number
  handler: string
  origin: Origin
  scheduledFor: number
  dueAt: number
  firedAt: number
  startedAt: number | null
  finishedAt: number | null
  state: ExecutionState
  reason: string | null
  attempt: number
  workerId: string | null
  fence: number | null
  /** JSON text, as are result and payload. */
  progress: string | null
  result: string | null
  payload: string | null
  error: ReportedError | null
  log: string | null
  labels: Record<string, string>
  traceparent: string | null
  skippedCount: number | null
  history: HistoryEntry[]
}

/** State = the ledger's outcome, else the table that holds the row, else PENDING. Index: executions_pkey. */
const selectExecution = `
  select e.execution_id "executionId", e.job_id "jobId", e.job_version "jobVersion", e.tenant, e.pool, e.lane, e.handler,
    e.origin, carillon.ms(e.scheduled_for) "scheduledFor", carillon.ms(e.due_at) "dueAt", carillon.ms(e.fired_at) "firedAt",
    carillon.ms(case when e.state is not null then e.started_at else r.leased_at end) "startedAt",
    carillon.ms(e.finished_at) "finishedAt",
    coalesce(e.state, case when r.execution_id is not null then 'RUNNING' end, t.state, 'PENDING') state,
    e.reason, coalesce(r.attempt, e.attempt) attempt, coalesce(r.worker_id, e.worker_id) "workerId",
    coalesce(r.fence, e.fence) fence, coalesce(r.progress, e.progress) progress, e.result,
    coalesce(e.payload, j.payload, v.payload) payload, e.error, e.log, coalesce(e.labels, '{}') labels, e.traceparent,
    e.skipped_count "skippedCount", coalesce(e.history, '[]') history
  from carillon.executions e
  left join carillon.running r on r.execution_id = e.execution_id
  left join carillon.retries t on t.execution_id = e.execution_id
  left join carillon.jobs j on j.job_id = e.job_id and j.version = e.job_version
  left join carillon.job_versions v on v.job_id = e.job_id and v.version = e.job_version and j.job_id is null`

export async function readExecution(
  database: Database,
  tenant: string,
  executionId: string,
): Promise<ExecutionRecord | null> {
  const rows = await database.query<ExecutionRecord>(
    'read-execution',
    `${selectExecution} where e.execution_id = $1 and e.tenant = $2`,
    [executionId, tenant],
  )
  return rows[0] ?? null
}

/** A job's executions, newest first. Index: executions_job. */
export async function readExecutionsOfJob(
  database: Database,
  tenant: string,
  jobId: string,
  limit: number,
): Promise<ExecutionRecord[]> {
  return database.query<ExecutionRecord>(
    'read-executions-of-job',
    `${selectExecution} where e.job_id = $1 and e.job_id <> e.execution_id and e.tenant = $2
     order by e.execution_id desc limit $3`,
    [jobId, tenant, limit],
  )
}

/** Dead letters and other ends, newest first. Index: endings_state. */
export async function readEndings(
  database: Database,
  query: { tenant: string; state: string; before: string; limit: number },
): Promise<ExecutionRecord[]> {
  return database.query<ExecutionRecord>(
    'read-endings',
    `${selectExecution} where e.execution_id in (
       select n.execution_id from carillon.endings n
       where n.tenant = $1 and n.state = $2 and n.execution_id < $3::uuid order by n.execution_id desc limit $4)
     order by e.execution_id desc`,
    [query.tenant, query.state, query.before, query.limit],
  )
}

/** Which of these have ended. For those who wait for a result. */
export async function readEnded(database: Database, ids: string[]): Promise<Set<string>> {
  const rows = await database.query<{ execution_id: string }>(
    'read-ended',
    'select execution_id from carillon.executions where execution_id = any ($1::uuid[]) and state is not null',
    [ids],
  )
  return new Set(rows.map((row) => row.execution_id))
}
