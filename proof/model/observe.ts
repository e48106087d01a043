/**
 * Everything that can be seen of an installation, as lines that can be compared: one for each execution that is in the
 * ledger, each job, each run, each thing enqueued, each worker, and the backfill. Both sides are written in the same words.
 */
import { outsideWorkerId } from '../../packages/server/src/domain/outside-worker.ts'
import type { Database } from '../../packages/server/src/store/database.ts'
import { countOf, failuresOf, openSteps, type Run, stepOf } from './oracle/graph.ts'
import { openOf } from './oracle/overlap.ts'
import { dueOf, type Execution, isOpen, type Job, livingJobs, openOnes, type World } from './oracle/world.ts'

/** By kind and id. */
export type Seen = Map<string, Record<string, unknown>>

export function seenByOracle(world: World): Seen {
  const seen: Seen = new Map()
  const order = places(world)
  for (const execution of world.executions.values()) {
    seen.set(`execution ${execution.id}`, { ...executionOf(execution), ...placeOf(execution, order) })
  }
  for (const job of livingJobs(world)) seen.set(`job ${job.id}`, jobOf(job))
  for (const run of world.runs.values()) seen.set(`run ${run.id}`, runOf(run))
  for (const [key, row] of followingBy(
    world.following.map(({ follower, followed, ...row }) => ({ ...row, job: follower.id, after: followed })),
  ))
    seen.set(key, row)
  for (const { id, runAt, work } of world.enqueued.values()) seen.set(`enqueued ${id}`, { runAt, pool: work.pool })
  for (const [workerId, seenAt] of world.workers) seen.set(`worker ${workerId}`, { seenAt })
  const { backfill } = world
  if (backfill) seen.set(`backfill ${backfill.id}`, { state: backfill.state, done: backfill.done })
  return seen
}

/** Where each ready execution stands in its queue. */
function places(world: World): Map<string, number> {
  const queued = openOnes(world).flatMap(({ id, place, work, lane }) =>
    place.in === 'ready' ? [{ id, queue: `${work.pool} ${lane}`, turn: place.turn }] : [],
  )
  const order = new Map<string, number>()
  for (const queue of Map.groupBy(queued, (each) => each.queue).values()) {
    queue
      .sort((a, b) => a.turn - b.turn)
      .forEach(({ id }, i) => {
        order.set(id, i + 1)
      })
  }
  return order
}

function executionOf(execution: Execution): Record<string, unknown> {
  const { job, run, place } = execution
  const open = isOpen(execution)
  const isSkipped = place.in === 'ledger' && place.state === 'SKIPPED'
  return {
    ...{ job: job?.id ?? run?.id ?? execution.id, version: execution.version, origin: execution.origin },
    ...{ scheduledFor: execution.scheduledFor, dueAt: execution.dueAt, firedAt: execution.firedAt },
    ...{ pool: execution.work.pool, lane: execution.lane },
    ...{ attempt: execution.attempt, releases: execution.releases, progress: execution.progress },
    ...{ result: execution.result, fence: execution.fence, workerId: execution.workerId },
    inputs: execution.inputs,
    expiresAt: open ? execution.expiresAt : null,
    deadlineAt: open ? execution.deadlineAt : null,
    startedAt: place.in === 'ledger' && place.state === 'SUCCEEDED' ? execution.startedAt : null,
    skippedLast: isSkipped ? (execution.skipped?.last ?? execution.scheduledFor) : null,
    skippedCount: isSkipped ? (execution.skipped?.count ?? 1) : null,
    timeline: execution.timeline.join(', '),
  }
}

const nowhere = { waits: null, order: null, due: null, finishedAt: null, reason: null, lease: null }

function placeOf(execution: Execution, order: Map<string, number>): Record<string, unknown> {
  const { id, place } = execution
  switch (place.in) {
    case 'blocked': {
      const { open, failed, passedOver } = countOf(stepOf(execution)!)
      const waits = JSON.stringify({ open, failed, passedOver, held: place.held })
      return { ...nowhere, place: 'blocked', state: 'BLOCKED', waits }
    }
    case 'ready':
      return { ...nowhere, place: 'ready', state: 'PENDING', order: order.get(id) }
    case 'waiting':
      return { ...nowhere, place: 'waiting', state: 'PENDING' }
    case 'retries':
      return { ...nowhere, place: 'retries', state: place.shows, due: place.due }
    case 'ledger':
      return { ...nowhere, place: 'ledger', state: place.state, reason: place.reason, finishedAt: place.finishedAt }
    case 'running': {
      const { fence, workerId, attempt, leasedAt, overdueAt, heartbeatAt, began, progress, cancel, completed } =
        place.lease
      const lease = {
        ...{ fence, workerId, attempt, leasedAt, overdueAt, heartbeatAt, began, progress },
        ...{ cancel: cancel?.reason ?? null, completed: completed !== null },
      }
      return { ...nowhere, place: 'running', state: 'RUNNING', lease: JSON.stringify(lease) }
    }
  }
}

function jobOf(job: Job): Record<string, unknown> {
  const { after } = job.definition
  const limited = job.definition.overlap !== 'ALLOW'
  return {
    ...{ version: job.version, state: job.state, nominal: job.nominal, due: dueOf(job), fires: job.fires },
    ...{ overlap: job.definition.overlap, updatedAt: job.updatedAt, tenant: job.tenant },
    after: after && `${after.on} ${after.job}`,
    live: limited
      ? openOf(job)
          .map(({ id }) => id)
          .sort()
          .join(', ')
      : null,
  }
}

function runOf(run: Run): Record<string, unknown> {
  const { createdAt, deadlineAt, paused, cancel, end } = run
  return {
    ...{ createdAt, deadlineAt, paused, cancel: cancel?.reason ?? null },
    ...{ state: end?.state ?? null, reason: end?.reason ?? null, finishedAt: end?.at ?? null },
    ...{ open: end === null ? openSteps(run).length : null, failed: end?.failed ?? failuresOf(run).length },
  }
}

interface FollowingRow {
  job: string
  after: string
  named: string
  runAt: number
  pool: string
  lane: number
}

/** Their ids are not known to both: by the follower and what it follows, and how many there are of one kind. */
function followingBy(rows: readonly FollowingRow[]): Seen {
  const seen: Seen = new Map()
  for (const { job, after, named, runAt, pool, lane } of rows) {
    const key = `following ${after} by ${job} at ${runAt}`
    seen.set(key, { named, pool, lane, times: ((seen.get(key)?.times as number) ?? 0) + 1 })
  }
  return seen
}

interface Rows {
  executions:
    | ({ id: string; lease: object | null; waits: object | null; inputs: string | null } & Record<string, unknown>)[]
    | null
  jobs: ({ id: string } & Record<string, unknown>)[] | null
  runs: ({ id: string } & Record<string, unknown>)[] | null
  enqueued: ({ id: string } & Record<string, unknown>)[] | null
  following: FollowingRow[] | null
  workers: ({ id: string } & Record<string, unknown>)[] | null
  operations: ({ id: string } & Record<string, unknown>)[] | null
}

const executionsSql = `
  select e.execution_id id, e.job_id job, e.job_version version, e.origin, carillon.ms(e.scheduled_for) "scheduledFor",
    carillon.ms(e.due_at) "dueAt", carillon.ms(e.fired_at) "firedAt", e.pool, e.lane, e.attempt, e.releases, e.progress,
    e.result, '{' || e.inputs || '}' inputs, e.fence, nullif(e.worker_id, $1::uuid) "workerId",
    case when e.state is null then carillon.ms(e.expires_at) end "expiresAt",
    case when e.state is null then carillon.ms(e.deadline_at) end "deadlineAt",
    case when e.state = 'SUCCEEDED' then carillon.ms(e.started_at) end "startedAt",
    case when e.state = 'SKIPPED' then carillon.ms(coalesce(e.skipped_last, e.scheduled_for)) end "skippedLast",
    case when e.state = 'SKIPPED' then coalesce(e.skipped_count, 1) end "skippedCount",
    coalesce((select string_agg(concat_ws(' ', h.entry ->> 'to', h.entry ->> 'reason', h.entry ->> 'fence', 'after ' || (h.entry ->> 'after')), ', ' order by h.n)
      from jsonb_array_elements(e.history) with ordinality h(entry, n)
      where h.entry ?| '{fence, after}' or h.entry ->> 'to' in ('PENDING', 'BLOCKED')), '') timeline,
    concat_ws(' and ', case when b.execution_id is not null then 'blocked' end, case when q.execution_id is not null then 'ready' end, case when w.execution_id is not null then 'waiting' end,
      case when t.execution_id is not null then 'retries' end, case when r.execution_id is not null then 'running' end,
      case when e.state is not null then 'ledger' end) place,
    coalesce(e.state, t.state, case when r.execution_id is not null then 'RUNNING' when b.execution_id is not null then 'BLOCKED'
      else 'PENDING' end) state,
    case when b.execution_id is not null then json_build_object('open', b.remaining, 'failed', b.failed, 'passedOver', b.skipped,
      'held', b.held) end waits,
    q.n "order", carillon.ms(t.due) due, carillon.ms(e.finished_at) "finishedAt",
    case when e.state is not null then e.reason end reason,
    case when r.execution_id is not null then json_build_object('fence', r.fence, 'workerId', nullif(r.worker_id, $1::uuid),
      'attempt', r.attempt, 'leasedAt', carillon.ms(r.leased_at), 'overdueAt', carillon.ms(r.overdue_at),
      'heartbeatAt', carillon.ms(r.heartbeat_at), 'began', r.began, 'progress', r.progress, 'cancel', r.cancel_reason,
      'completed', r.completed) end lease
  from carillon.executions e
  left join (select *, row_number() over (partition by pool, lane order by tag, execution_id) n from carillon.ready) q
    on q.execution_id = e.execution_id
  left join carillon.blocked b on b.execution_id = e.execution_id
  left join carillon.waiting w on w.execution_id = e.execution_id
  left join carillon.retries t on t.execution_id = e.execution_id
  left join carillon.running r on r.execution_id = e.execution_id`

const jobsSql = `
  select j.job_id id, j.version, j.state, carillon.ms(s.nominal) nominal, carillon.ms(s.due) due, s.fires, j.overlap,
    carillon.ms(j.updated_at) "updatedAt", j.tenant, f.on_end || ' ' || f.followed "after",
    case when j.overlap <> 'ALLOW' then coalesce((select string_agg(l::text, ', ' order by l) from unnest(s.live) l
      join carillon.executions e on e.execution_id = l where e.state is null), '') end live
  from carillon.jobs j join carillon.schedules s on s.job_id = j.job_id
  left join carillon.followers f on f.job_id = j.job_id where j.state <> 'DELETED'`

const runsSql = `
  select r.execution_id id, carillon.ms(r.created_at) "createdAt", carillon.ms(r.deadline_at) "deadlineAt", r.paused, r.cancel_reason cancel,
    r.state, r.reason, carillon.ms(r.finished_at) "finishedAt", b.remaining open, coalesce(r.failed_count, b.failed) failed
  from carillon.dag_runs r left join carillon.blocked b on b.execution_id = r.execution_id`

/** One statement: one moment. */
const seenSql = `
  select (select json_agg(x) from (${executionsSql}) x) executions, (select json_agg(x) from (${jobsSql}) x) jobs,
    (select json_agg(x) from (${runsSql}) x) runs,
    (select json_agg(x) from (
      select execution_id id, carillon.ms(run_at) "runAt", pool from carillon.submissions where job_id is null) x) enqueued,
    (select json_agg(x) from (select job_id job, after_id "after", after_job named, carillon.ms(run_at) "runAt", pool, lane
      from carillon.submissions where job_id is not null) x) following,
    (select json_agg(x) from (select worker_id id, carillon.ms(seen_at) "seenAt" from carillon.workers) x) workers,
    (select json_agg(x) from (select operation_id id, state, done from carillon.operations
      order by created_at desc, operation_id desc limit 1) x) operations`

export async function seenInDatabase(database: Database): Promise<Seen> {
  const [rows] = await database.query<Rows & Record<string, unknown>>('seen', seenSql, [outsideWorkerId])
  const { executions, jobs, runs, enqueued, following, workers, operations } = rows!
  const seen: Seen = new Map()
  for (const { id, lease, waits, inputs, ...rest } of executions ?? []) {
    const texts = { lease: lease && JSON.stringify(lease), waits: waits && JSON.stringify(waits) }
    seen.set(`execution ${id}`, { ...rest, ...texts, inputs: inputs && JSON.stringify(JSON.parse(inputs)) })
  }
  for (const { id, ...rest } of jobs ?? []) seen.set(`job ${id}`, rest)
  for (const { id, ...rest } of runs ?? []) seen.set(`run ${id}`, rest)
  for (const { id, ...rest } of enqueued ?? []) seen.set(`enqueued ${id}`, rest)
  for (const [key, row] of followingBy(following ?? [])) seen.set(key, row)
  for (const { id, ...rest } of workers ?? []) seen.set(`worker ${id}`, rest)
  for (const { id, ...rest } of operations ?? []) seen.set(`backfill ${id}`, rest)
  return seen
}

/** With the ids that their executions are to have. */
export async function readFollowing(database: Database): Promise<(FollowingRow & { id: string })[]> {
  return database.query(
    'following',
    `select execution_id id, job_id job, after_id "after", after_job named, carillon.ms(run_at) "runAt", pool, lane
     from carillon.submissions where job_id is not null order by execution_id`,
  )
}
