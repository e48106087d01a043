/** Where an unfinished execution is and what surrounds it, for `explain`. Not for hot paths. */
import type { JobState, StartedRun } from '@carillon/contract'
import type { Database } from '../database.ts'

export interface Placement {
  /** Of the job it belongs to; null: it has none, or the job is gone. */
  jobState: JobState | null
  overlap: string | null
  poolPaused: boolean
  /** It comes back to the queue at this time. */
  backAt: number | null
  waits: boolean
  /** The limit that it waits for. */
  limit: {
    /** Null: it was deleted a moment ago. */
    name: string | null
    /** What is counted: a key, or a job, handler, pool or tenant. */
    what: string
    concurrency: number | null
    taken: number
    rate: { count: number; perSec: number } | null
    nextAt: number | null
    /** Those of its tenant that hold slots, and the workers that run them. */
    holders: { executionId: string; worker: string | null }[]
    /** How many wait for it that come before, counted up to 10,000. */
    ahead: number
  } | null
  /** Of a step that waits for others: `held` is nobody's to take up until its run is resumed. */
  blocked: {
    remaining: number
    total: number
    steps: string[]
    held: boolean
    runPaused: boolean
    /** It needs one of the slots of its run. */
    queued: boolean
    slots: number | null
    active: number
  } | null
  /** Unfinished executions of the same job that do not wait themselves, and the worker that runs them. */
  holders: { executionId: string; worker: string | null }[]
  queued: boolean
  lease: {
    workerId: string
    worker: string | null
    leasedAt: number
    overdueAt: number | null
    seenAt: number | null
    cancelAt: number | null
    /** That it has started, and waits for. */
    run: (StartedRun & { paused: boolean; fanOut: boolean }) | null
  } | null
}

/** Indexes: the primary keys of each table, jobs_by_id, executions_job. */
export async function readPlacement(database: Database, executionId: string): Promise<Placement | null> {
  const rows = await database.query<Placement>(
    'read-execution-placement',
    `select j.state "jobState", j.overlap, coalesce(p.paused, false) "poolPaused", carillon.ms(t.due) "backAt",
       w.execution_id is not null and w.tenant is null waits, q.execution_id is not null queued,
       case when b.execution_id is not null then (
         select jsonb_build_object('remaining', b.remaining, 'total', count(x.name), 'held', b.held, 'runPaused', bool_or(g.paused),
           'queued', b.queued, 'slots', max(o.slots), 'active', max(o.active),
           'steps', coalesce(jsonb_agg(x.name order by s.number) filter (where x.state is null and x.name is not null), '[]'))
         from carillon.dag_runs g join carillon.blocked o on o.execution_id = g.execution_id
         left join carillon.executions_of_run(g.execution_id) x on exists (
           select from carillon.dag_steps y where y.execution_id = x.execution_id and e.execution_id = any (y.children))
         left join carillon.dag_steps s on s.execution_id = x.execution_id
         where g.execution_id = b.run_id) end blocked,
       case when w.tenant is not null then (
         select jsonb_build_object('name', l.name, 'what', substr(w.key, length(concat('limit:', split_part(w.key, ':', 2), ':')) + 1),
           'concurrency', l.concurrency, 'taken', r.taken, 'nextAt', carillon.ms(r.counted_from),
           'rate', case when l.rate_count is not null then jsonb_build_object('count', l.rate_count, 'perSec', l.rate_sec) end,
           'ahead', (select count(*) from (select from carillon.waiting z where z.key = w.key and z.tenant = w.tenant
             and z.execution_id < w.execution_id limit 10000) z),
           'holders', (select coalesce(jsonb_agg(h), '[]') from (
             select x.execution_id "executionId", k.name worker from carillon.limit_holds o
             join carillon.executions x on x.execution_id = o.execution_id and x.tenant = e.tenant
             left join lateral carillon.held(x) y on true left join carillon.workers k on k.worker_id = y.worker_id
             where o.key = w.key order by x.execution_id limit 5) h))
         from carillon.limit_room(w.key, coalesce($2, clock_timestamp())) r
         left join carillon.limits l on l.limit_id = split_part(w.key, ':', 2)::int) end "limit",
       case when w.execution_id is null or w.tenant is not null then '[]' else (
         select coalesce(jsonb_agg(h), '[]') from (
           select x.execution_id "executionId", k.name worker from carillon.executions x
           left join lateral carillon.held(x) y on true
           left join carillon.workers k on k.worker_id = y.worker_id
           where x.job_id = e.job_id and x.job_id <> x.execution_id and x.state is null and x.execution_id <> e.execution_id
             and not exists (select from carillon.waiting z where z.execution_id = x.execution_id and z.tenant is null)
           order by x.execution_id desc limit 5) h) end holders,
       case when r.execution_id is not null then jsonb_build_object('workerId', r.worker_id, 'worker', k.name,
         'leasedAt', carillon.ms(r.leased_at), 'overdueAt', carillon.ms(r.overdue_at), 'seenAt', carillon.ms(k.seen_at), 'cancelAt', carillon.ms(r.cancel_at),
         'run', u.run || jsonb_build_object('paused', g.paused, 'fanOut', g.fan_out)) end lease
     from carillon.executions e
     left join carillon.jobs j on j.job_id = e.job_id and j.state <> 'DELETED'
     left join carillon.pools p on p.pool = e.pool
     left join carillon.retries t on t.execution_id = e.execution_id
     left join carillon.waiting w on w.execution_id = e.execution_id
     left join carillon.blocked b on b.execution_id = e.execution_id
     left join carillon.ready q
       on q.pool = e.pool and q.lane = e.lane and q.tag = e.tag and q.execution_id = e.execution_id
     left join lateral carillon.held(e) r on true
     left join carillon.workers k on k.worker_id = r.worker_id
     left join lateral (select carillon.started_run(e.execution_id) run where e.handler = 'carillon.dag') u on true
     left join carillon.dag_runs g on g.execution_id = (u.run ->> 'runId')::uuid
     where e.execution_id = $1 and e.state is null`,
    [executionId, database.now],
  )
  return rows[0] ?? null
}

/** How many are before it in its lane and in the lanes above, counted up to `most`. Index: ready_pkey. */
export async function countAhead(
  database: Database,
  { executionId, most }: { executionId: string; most: number },
): Promise<{ lane: number; above: number }> {
  const rows = await database.query<{ lane: number; above: number }>(
    'count-ahead',
    `select (select count(*) from (select from carillon.ready q where q.pool = e.pool and q.lane = e.lane
         and (q.tag, q.execution_id) < (e.tag, e.execution_id) limit $2) a) lane,
       (select count(*) from (select from carillon.ready q where q.pool = e.pool and q.lane < e.lane limit $2) a) above
     from carillon.executions e where e.execution_id = $1`,
    [executionId, most],
  )
  return rows[0] ?? { lane: 0, above: 0 }
}

export interface ServingWorker {
  workerId: string
  name: string
  seenAt: number
  slots: number
  knowsHandler: boolean
  running: number
}

/** The workers that serve a pool for a tenant. Reads all of `workers` and `leases`. */
export async function readServing(
  database: Database,
  { tenant, pool, handler }: { tenant: string; pool: string; handler: string },
): Promise<ServingWorker[]> {
  return database.query<ServingWorker>(
    'read-serving',
    `select w.worker_id "workerId", w.name, carillon.ms(w.seen_at) "seenAt", (p ->> 'slots')::int slots,
       p -> 'handlers' ? $3 "knowsHandler", coalesce(r.running, 0) running
     from carillon.workers w cross join jsonb_array_elements(w.pools) p
     left join (select worker_id, sum(open)::int running from carillon.leases group by worker_id) r on r.worker_id = w.worker_id
     where p ->> 'pool' = $2 and (w.tenant is null or w.tenant = $1)`,
    [tenant, pool, handler],
  )
}
