/** The ledger as the checkers read it, from the tables of a stopped or healed installation. */
import { type DagStep, defaults } from '@carillon/contract'
import { stepId } from '../packages/server/src/domain/identity.ts'
import type { DagRunRow, DagStepRow, Follower, LedgerRow } from './history.ts'

/** Runs one statement and answers its rows. */
export type Ask = (text: string) => Promise<Record<string, unknown>[]>

const ledgerSql = `
  select e.execution_id "executionId", e.job_id "jobId", e.job_version "jobVersion", e.tenant, e.handler, e.origin,
    carillon.ms(e.scheduled_for)::float8 "scheduledFor", carillon.ms(e.due_at)::float8 "dueAt",
    carillon.ms(e.fired_at)::float8 "firedAt", carillon.ms(e.started_at)::float8 "startedAt",
    carillon.ms(e.finished_at)::float8 "finishedAt", carillon.ms(e.skipped_last)::float8 "skippedLast",
    e.skipped_count "skippedCount", e.reason, e.attempt, e.fence::float8 fence,
    coalesce(e.state, case when r.execution_id is not null then 'RUNNING' when b.execution_id is not null then 'BLOCKED'
      else t.state end, 'PENDING') state,
    coalesce((p.policy #>> '{retryPolicy,maxAttempts}')::int, ${defaults.retryPolicy.maxAttempts}) "maxAttempts",
    coalesce(p.policy ->> 'delivery', '${defaults.delivery}') delivery,
    (select coalesce(jsonb_agg(jsonb_build_object('key', k.key, 'concurrency', l.concurrency)), '[]')
     from unnest(carillon.limit_keys_of(e.tenant, e.pool, e.handler, e.job_id, p.policy)) k(key)
     join carillon.limits l on l.limit_id = split_part(k.key, ':', 2)::int and l.concurrency is not null) limits,
    coalesce(e.history, '[]') transitions, case when e.origin = 'DAG' then e.payload end payload,
    case when e.origin = 'DAG' or e.handler = 'carillon.dag' then e.result end result,
    case when e.handler = 'carillon.dag' then e.error ->> 'name' end error
  from carillon.executions e
  left join carillon.running r on r.execution_id = e.execution_id
  left join carillon.retries t on t.execution_id = e.execution_id
  left join carillon.blocked b on b.execution_id = e.execution_id
  left join carillon.jobs j on j.job_id = e.job_id and j.version = e.job_version
  left join carillon.job_versions v on v.job_id = e.job_id and v.version = e.job_version
  cross join lateral (select case when e.job_version is null then e.policy else coalesce(j.policy, v.policy) end policy) p
  order by e.execution_id`

export async function readLedger(ask: Ask): Promise<LedgerRow[]> {
  const rows = (await ask(ledgerSql)) as unknown as (Omit<LedgerRow, 'payload' | 'result'> & {
    payload: string | null
    result: string | null
  })[]
  return rows.map((row) => ({
    ...row,
    payload: parsed(row.payload),
    result: parsed(row.result),
    transitions: row.transitions.map(({ at, to, reason = null, fence = null, after = null }) => ({
      ...{ at, to, reason, fence, after },
    })),
  }))
}

const followersSql = `
  select f.job_id "jobId", f.followed, f.on_end "on", carillon.ms(j.created_at)::float8 since
  from carillon.followers f join carillon.jobs j on j.job_id = f.job_id
  where j.version = 1 and exists (select from carillon.jobs k where k.job_id::text = f.followed) order by 1`

export async function readFollowers(ask: Ask): Promise<Follower[]> {
  return (await ask(followersSql)) as unknown as Follower[]
}

const dagRunsSql = `
  select r.execution_id "runId", carillon.ms(r.created_at)::float8 "createdAt", r.started_by "startedBy", r.fan_out "fanOut", r.concurrency,
    r.max_failures "maxFailures", r.payload, r.steps, r.step_count "stepCount", coalesce(r.state, 'RUNNING') state, r.reason,
    r.cancel_reason "cancelReason", r.failed_count "failedCount", carillon.ms(r.finished_at)::float8 "finishedAt"
  from carillon.dag_runs r order by r.execution_id`

type StoredRun = Omit<DagRunRow, 'payload' | 'steps'> & { payload: string | null; steps: string; stepCount: number }

/** A run has its steps in the order of their numbers. */
export async function readDagRuns(ask: Ask): Promise<DagRunRow[]> {
  const rows = (await ask(dagRunsSql)) as unknown as StoredRun[]
  return rows.map(({ payload, steps: text, stepCount, ...row }) => {
    const steps = JSON.parse(text) as DagStep[]
    const asked = row.fanOut ? Array.from({ length: stepCount }, (_, n) => itemOf(steps[0]!, n)) : steps
    return { ...row, payload: parsed(payload), steps: asked.map((step, number) => stepOf(row.runId, step, number)) }
  })
}

/** Of a fan-out one step is kept, which stands for all. */
function itemOf({ name, ...step }: DagStep, number: number): DagStep {
  return { ...step, name: `${name}.${number}` }
}

function stepOf(runId: string, step: DagStep, number: number): DagStepRow {
  const { name, dependsOn = [], runIf = 'ALL_SUCCEEDED', when = null, allowFailure = false } = step
  const { waitFor = null, timeoutSec = null, forEach = null } = step
  return {
    executionId: stepId(runId, number),
    ...{ name, dependsOn, runIf, when, allowFailure, waitFor, timeoutSec, forEach },
  }
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text)
}
