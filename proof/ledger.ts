/** The ledger as the checkers read it, from the tables of a stopped or healed installation. */
import { type DagStep, defaults } from '@carillon/contract'
import { stepId } from '../packages/server/src/domain/identity.ts'
import type { DagRunRow, Follower, LedgerRow } from './history.ts'

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
    coalesce(e.history, '[]') transitions
  from carillon.executions e
  left join carillon.running r on r.execution_id = e.execution_id
  left join carillon.retries t on t.execution_id = e.execution_id
  left join carillon.blocked b on b.execution_id = e.execution_id
  left join carillon.jobs j on j.job_id = e.job_id and j.version = e.job_version
  left join carillon.job_versions v on v.job_id = e.job_id and v.version = e.job_version
  cross join lateral (select case when e.job_version is null then e.policy else coalesce(j.policy, v.policy) end policy) p
  order by e.execution_id`

export async function readLedger(ask: Ask): Promise<LedgerRow[]> {
  const rows = (await ask(ledgerSql)) as unknown as LedgerRow[]
  return rows.map((row) => ({
    ...row,
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
  select r.execution_id "runId", r.payload, r.steps, coalesce(r.state, 'RUNNING') state, r.reason, r.cancel_reason "cancelReason",
    r.failed_count "failedCount", carillon.ms(r.finished_at)::float8 "finishedAt"
  from carillon.dag_runs r order by r.execution_id`

/** A run has its steps in the order of their numbers. */
export async function readDagRuns(ask: Ask): Promise<DagRunRow[]> {
  const rows = (await ask(dagRunsSql)) as unknown as (Omit<DagRunRow, 'payload' | 'steps'> & {
    payload: string | null
    steps: string
  })[]
  return rows.map(({ payload, steps, ...row }) => ({
    ...row,
    payload: payload === null ? null : JSON.parse(payload),
    steps: (JSON.parse(steps) as DagStep[]).map(
      ({ name, dependsOn = [], runIf = 'ALL_SUCCEEDED', allowFailure = false }, number) => ({
        executionId: stepId(row.runId, number),
        ...{ name, dependsOn, runIf, allowFailure },
      }),
    ),
  }))
}
