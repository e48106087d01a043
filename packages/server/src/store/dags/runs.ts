/** Runs of graphs: created, read, listed, changed. Times in milliseconds. */
import type { DagRunState, DagRunStep, ExecutionState } from '@carillon/contract'
import { booleans, integers, jsonbs, smallints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import { type AnswerEntry, AnsweredBefore } from '../idempotency/answers.ts'
import type { StoredPolicy } from '../rows.ts'

/** A run as it is to be written. */
export interface NewRun {
  runId: string
  dagId: string | null
  dagVersion: number | null
  tenant: string
  name: string
  labels: Record<string, string>
  /** JSON text, as are `steps`. */
  payload: string | null
  traceparent: string | null
  steps: string
  at: number
  deadlineSec: number | null
  /** The rest: of one that an execution starts. `at` is its time then. */
  createdAt: number | null
  startedBy: string | null
  startedFence: number | null
  ancestors: string[] | null
  fanOut: boolean
  concurrency: number | null
  maxFailures: number
  paused: boolean
}

export interface NewStep {
  executionId: string
  name: string
  pool: string
  lane: number
  handler: string
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
  allowFailure: boolean
  /** For how many steps it waits. */
  waits: number
  /** Executions that wait for it. */
  children: string[]
}

/** AGAIN: the graph has changed since it was read. Throws AnsweredBefore. See functions/dags/create_run.sql. */
export async function createRun(
  database: Database,
  { run, steps, actor, entry }: { run: NewRun; steps: NewStep[]; actor: string; entry: AnswerEntry | null },
): Promise<'DONE' | 'AGAIN' | 'EXISTS'> {
  const given = Object.fromEntries(Object.entries(run).filter(([, value]) => value !== null))
  const rows = await database.query<{ verdict: 'DONE' | 'ANSWERED' | 'AGAIN' | 'EXISTS' }>(
    'create-run',
    'select carillon.create_run($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15) verdict',
    [
      entry && JSON.stringify(entry),
      actor,
      JSON.stringify(given),
      uuids(steps.map((s) => s.executionId)),
      texts(steps.map((s) => s.name)),
      texts(steps.map((s) => s.pool)),
      smallints(steps.map((s) => s.lane)),
      texts(steps.map((s) => s.handler)),
      texts(steps.map((s) => s.payload)),
      jsonbs(steps.map((s) => (s.policy === null ? null : JSON.stringify(s.policy)))),
      jsonbs(steps.map((s) => (s.labels === null ? null : JSON.stringify(s.labels)))),
      booleans(steps.map((s) => s.allowFailure)),
      integers(steps.map((s) => s.waits)),
      texts(steps.map((s) => `{${s.children.join(',')}}`)),
      database.now,
    ],
  )
  const { verdict } = rows[0]!
  if (verdict === 'ANSWERED') throw new AnsweredBefore()
  return verdict
}

export interface DagRunRecord {
  runId: string
  dagId: string | null
  dagVersion: number | null
  name: string
  tenant: string
  labels: Record<string, string>
  state: DagRunState
  paused: boolean
  reason: string | null
  stepCount: number
  doneCount: number
  failedCount: number
  createdAt: number
  finishedAt: number | null
  deadlineAt: number | null
  traceparent: string | null
  startedBy: string | null
  fanOut: boolean
  /** JSON text. */
  payload: string | null
}

const columns = `
  r.execution_id "runId", r.dag_id "dagId", r.dag_version "dagVersion", r.name, r.tenant, coalesce(r.labels, '{}') labels,
  coalesce(r.state, 'RUNNING') state, r.paused, coalesce(r.reason, case when r.state is null and r.cancel_at is not null then 'CANCELLING' end) reason,
  r.step_count "stepCount", case when r.state is null then r.step_count - b.remaining else r.step_count end "doneCount",
  coalesce(r.failed_count, b.failed, 0) "failedCount", carillon.ms(r.created_at) "createdAt",
  carillon.ms(r.finished_at) "finishedAt", carillon.ms(r.deadline_at) "deadlineAt", r.traceparent, r.started_by "startedBy",
  r.fan_out "fanOut"`
const joined = 'left join carillon.blocked b on b.execution_id = case when r.state is null then r.execution_id end'

/** Index: dag_runs_pkey. */
export async function readRun(database: Database, tenant: string, runId: string): Promise<DagRunRecord | null> {
  const rows = await database.query<DagRunRecord>(
    'read-dag-run',
    `select ${columns}, r.payload from carillon.dag_runs r ${joined} where r.execution_id = $1 and r.tenant = $2`,
    [runId, tenant],
  )
  return rows[0] ?? null
}

export interface DagRunFilter {
  dagId?: string
  state?: DagRunState
  /** All must match. */
  labels: Record<string, string>[]
  from: number | null
  to: number | null
}

/** Of what a list looks at for one page. */
const lookedAt = 5_000

/**
 * Newest first, below `before`; without payloads, and without fan-outs, which are found by the steps that have started them. `next`: the id to go on from; null: that was all. Not prepared: planned for the tenant
 * at hand. Indexes: dag_runs_tenant, or dag_runs_dag.
 */
export async function listRuns(
  database: Database,
  { tenant, before, limit }: { tenant: string; before: string; limit: number },
  { dagId, state, labels, from, to }: DagRunFilter,
): Promise<{ records: DagRunRecord[]; next: string | null }> {
  const rows = await database.query<DagRunRecord & { fits: boolean; number: number }>(
    null,
    `select w.fits, w.number, null payload, ${columns}
     from (
       select x.execution_id, row_number() over (order by x.execution_id desc) number,
         ($4::text is null or coalesce(x.state, 'RUNNING') = $4) and coalesce(x.labels, '{}') @> all ($5::jsonb[]) fits
       from (
         select * from carillon.dag_runs y
         where y.tenant = $1 and y.execution_id < $2::uuid and not y.fan_out and ($3::uuid is null or y.dag_id = $3)
           and y.execution_id >= carillon.first_id(coalesce($6::bigint, 0)) and ($7::bigint is null or y.execution_id < carillon.first_id($7))
         order by y.execution_id desc limit ${lookedAt}) x) w
     join carillon.dag_runs r on r.execution_id = w.execution_id ${joined}
     where w.fits or w.number = ${lookedAt} order by w.number limit $8`,
    [tenant, before, dagId ?? null, state ?? null, labels.map((l) => JSON.stringify(l)), from, to, limit + 1],
  )
  const fitting = rows.filter((row) => row.fits)
  const records = fitting.slice(0, limit)
  if (fitting.length > limit) return { records, next: records.at(-1)!.runId }
  const last = rows.at(-1)
  return { records, next: last?.number === lookedAt ? last.runId : null }
}

/** Where a step is. */
export interface StepRow {
  executionId: string
  number: number
  handler: string
  state: ExecutionState
  reason: string | null
  waitsFor: number
  attempt: number
  startedAt: number | null
  finishedAt: number | null
  error: DagRunStep['error']
  run: DagRunStep['run']
}

/** The steps of a run, by number. Index: executions_job; what has ended is looked up nowhere else. */
export async function readRunSteps(database: Database, runId: string): Promise<StepRow[]> {
  return database.query<StepRow>(
    'read-dag-run-steps',
    `select x.execution_id "executionId", s.number, x.handler, x.state, x.reason, coalesce(b.remaining, 0) "waitsFor", x.attempt,
       x.started_at "startedAt", x.finished_at "finishedAt", x.error,
       case when x.handler = 'carillon.dag' then carillon.started_run(x.execution_id) end run
     from (select array_agg(e.tenant) tenants, array_agg(e.execution_id) ids from carillon.executions_of_run($1) e) o
     cross join lateral carillon.read_executions(o.tenants, o.ids) x
     join carillon.dag_steps s on s.execution_id = x.execution_id
     left join carillon.blocked b on b.execution_id = case when x.state = 'BLOCKED' then x.execution_id end
     order by s.number`,
    [runId],
  )
}

/** What a run was created with: its steps as JSON text; of a fan-out one, which stands for `stepCount`. */
export interface RunDefinition {
  runId: string
  steps: string
  stepCount: number
  fanOut: boolean
}

export async function readRunDefinitions(database: Database, runIds: string[]): Promise<RunDefinition[]> {
  return database.query(
    'read-dag-run-definitions',
    `select r.execution_id "runId", r.steps, r.step_count "stepCount", r.fan_out "fanOut" from unnest($1::uuid[]) i(id) join carillon.dag_runs r on r.execution_id = i.id`,
    [runIds],
  )
}

/** Runs that the steps of a run have started and that go on. Indexes: executions_job, dag_runs_started. */
export async function readRunsBelow(database: Database, runId: string): Promise<string[]> {
  const rows = await database.query<{ run: { runId: string; state: string } | null }>(
    'read-dag-runs-below',
    `select carillon.started_run(e.execution_id) run from carillon.executions_of_run($1) e
     where e.handler = 'carillon.dag' and e.state is null`,
    [runId],
  )
  return rows.flatMap(({ run }) => (run?.state === 'RUNNING' ? [run.runId] : []))
}

export interface CancelledStep {
  executionId: string
  verdict: 'CANCELLED' | 'FLAGGED' | 'ENDED' | 'UNKNOWN' | 'BUSY'
  workerId: string | null
  fence: number | null
}

/** Null: there is no such run. See functions/dags/change_run.sql. */
export async function cancelRun(
  database: Database,
  { runId, reason, actor }: { runId: string; reason: string; actor: string },
): Promise<{ ended: boolean; steps: CancelledStep[] } | null> {
  const rows = await database.query<{
    execution_id: string
    verdict: CancelledStep['verdict'] | 'RUNNING'
    worker_id: string | null
    fence: number | null
  }>('cancel-dag-run', 'select * from carillon.cancel_runs($1, $2, $3, $4)', [[runId], reason, actor, database.now])
  const own = rows.find((row) => row.execution_id === runId)
  if (!own) return null
  const steps = rows.flatMap(({ execution_id: executionId, verdict, worker_id: workerId, fence }) =>
    verdict === 'RUNNING' || executionId === runId ? [] : [{ executionId, verdict, workerId, fence }],
  )
  return { ended: own.verdict === 'ENDED', steps }
}

/** False: it has ended or is being cancelled; null: there is no such run. */
export async function pauseRun(
  database: Database,
  { runId, paused, actor }: { runId: string; paused: boolean; actor: string },
): Promise<boolean | null> {
  const rows = await database.query<{ done: boolean | null }>(
    'pause-dag-run',
    'select carillon.pause_run($1, $2, $3, $4) done',
    [runId, paused, actor, database.now],
  )
  return rows[0]!.done
}

export type RetryVerdict = 'DONE' | 'AGAIN' | 'STATE' | 'TOO_OLD' | 'STARTED' | null

/** `fence`: of the execution that has started it. */
export async function retryRun(
  database: Database,
  {
    runId,
    steps,
    actor,
    fence,
  }: { runId: string; steps: { executionId: string; waits: number }[]; actor: string; fence: number | null },
): Promise<RetryVerdict> {
  const rows = await database.query<{ verdict: RetryVerdict }>(
    'retry-dag-run',
    'select carillon.retry_run($1, $2, $3, $4, $5, $6) verdict',
    [runId, uuids(steps.map((s) => s.executionId)), integers(steps.map((s) => s.waits)), actor, fence, database.now],
  )
  return rows[0]!.verdict
}

/** Null: it does not wait for a signal (any more). See functions/dags/advance.sql. */
export async function signalStep(
  database: Database,
  {
    runId,
    executionId,
    step,
    result,
    actor,
  }: { runId: string; executionId: string; step: string; result: string | null; actor: string },
): Promise<'DONE' | 'BUSY' | null> {
  const rows = await database.query<{ verdict: 'DONE' | 'BUSY' | null }>(
    'signal-step',
    'select carillon.signal_step($1, $2, $3, $4, $5, $6) verdict',
    [runId, executionId, step, result, actor, database.now],
  )
  return rows[0]!.verdict
}

/** Cancels runs whose executions do not wait for them any more. Answers what runs and must be told to stop. */
export async function cancelAbandonedRuns(
  database: Database,
  limit: number,
): Promise<{ executionId: string; workerId: string; fence: number }[]> {
  return database.query(
    'cancel-abandoned-runs',
    'select execution_id "executionId", worker_id "workerId", fence from carillon.cancel_abandoned_runs($1, $2)',
    [limit, database.now],
  )
}

/** Cancels what is left of runs whose deadline has passed. Answers what runs and must be told to stop. */
export async function expireRuns(
  database: Database,
  limit: number,
): Promise<{ executionId: string; workerId: string; fence: number }[]> {
  return database.query(
    'expire-runs',
    'select execution_id "executionId", worker_id "workerId", fence from carillon.expire_runs($1, $2)',
    [limit, database.now],
  )
}
