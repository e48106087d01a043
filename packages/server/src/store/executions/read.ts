import type { Execution, Timed, TimelineEntry } from '@carillon/contract'
import { texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import type { StoredPolicy } from '../rows.ts'
import { ofJob, selectExecutions } from './select.ts'

export interface HistoryEntry extends Timed<TimelineEntry, 'at' | 'startedAt', number> {
  /** What was reported of it, though the handler's own transaction had completed it; and under which fence. */
  said?: string
  saidUnder?: number
}

type Instants = 'scheduledFor' | 'dueAt' | 'firedAt' | 'startedAt' | 'finishedAt'
/** What follows from the rest, is kept in another form, or is not there yet. */
type NotStored =
  | 'priority'
  | 'durationMs'
  | 'latenessMs'
  | 'limits'
  | 'maxAttempts'
  | 'traceId'
  | 'attempts'
  | 'timeline'
  | 'dagRunId'

/** One line of the ledger, with the state that follows from the table that holds its row. Times in milliseconds. */
export interface ExecutionRecord extends Timed<Omit<Execution, NotStored>, Instants, number> {
  lane: number
  /** JSON text, as are result and payload. */
  progress: string | null
  result: string | null
  payload: string | null
  policy: StoredPolicy | null
  traceparent: string | null
  history: HistoryEntry[]
}

const columns = `
  e.execution_id "executionId", e.job_id "jobId", e.job_version "jobVersion", e.name, e.tenant, e.pool, e.lane, e.handler,
  e.origin, e.scheduled_for "scheduledFor", e.due_at "dueAt", e.fired_at "firedAt", e.started_at "startedAt",
  e.finished_at "finishedAt", e.state, e.reason, e.attempt, e.worker_id "workerId", e.fence, e.progress, e.result,
  e.payload, e.policy, e.error, coalesce(e.labels, '{}') labels, e.traceparent, e.skipped_count "skippedCount",
  coalesce(e.history, '[]') history`

export interface ExecutionKey {
  tenant: string
  executionId: string
}

/** In the order asked; null where there is none. See functions/reads/read_executions.sql. */
export async function readEach(database: Database, keys: ExecutionKey[]): Promise<(ExecutionRecord | null)[]> {
  const rows = await database.query<ExecutionRecord & { ordinal: number }>(
    'read-each',
    `select ${columns}, e.ordinal from carillon.read_executions($1, $2) e`,
    [texts(keys.map((key) => key.tenant)), uuids(keys.map((key) => key.executionId))],
  )
  const found: (ExecutionRecord | null)[] = keys.map(() => null)
  for (const row of rows) found[row.ordinal - 1] = row
  return found
}

export async function readExecution(
  database: Database,
  tenant: string,
  executionId: string,
): Promise<ExecutionRecord | null> {
  return (await readEach(database, [{ tenant, executionId }]))[0]!
}

/** A job's executions, newest first. */
export async function readExecutionsOfJob(
  database: Database,
  tenant: string,
  jobId: string,
  limit: number,
): Promise<ExecutionRecord[]> {
  const { ids } = await selectExecutions(database, ofJob(tenant, jobId), { order: 'desc', limit, look: limit })
  return readExecutions(database, tenant, ids)
}

/** What a page of executions may weigh: payloads, results and progress can be a quarter of a MiB each. */
const pageBytes = 8 * 1024 * 1024

/** These executions in the order given, as many as fit into a page: at least one. */
export async function readExecutions(database: Database, tenant: string, ids: string[]): Promise<ExecutionRecord[]> {
  if (ids.length === 0) return []
  return database.query<ExecutionRecord>(
    'read-executions',
    `select ${columns} from (
       select x.*, sum(coalesce(octet_length(x.payload), 0) + coalesce(octet_length(x.progress), 0)
         + coalesce(octet_length(x.result), 0)) over (order by x.ordinal) bytes
       from carillon.read_executions($1, $2) x) e
     where e.bytes <= $3 or e.ordinal = 1 order by e.ordinal`,
    [texts(ids.map(() => tenant)), uuids(ids), pageBytes],
  )
}

/** Which of these have ended, or were cancelled before they fired. For callers that wait for a result. */
export async function readEnded(database: Database, ids: string[]): Promise<Set<string>> {
  const rows = await database.query<{ execution_id: string }>(
    'read-ended',
    `select e.execution_id from unnest($1::uuid[]) i(execution_id)
     join carillon.executions e on e.execution_id = i.execution_id where e.state is not null
     union all
     select j.job_id from unnest($1::uuid[]) i(job_id) join carillon.jobs j on j.job_id = i.job_id
     where j.state = 'DELETED' and j.type in ('ONE_SHOT', 'DELAYED')`,
    [ids],
  )
  return new Set(rows.map((row) => row.execution_id))
}
