/** Queries of tests on a virtual clock. The tables of a test are short: no index is needed. */
import type { LeasedExecution } from '@carillon/contract'
import { outsideWorkerId } from '../domain/outside-worker.ts'
import type { Database } from '../store/database.ts'

export type DueKind = 'FIRE' | 'ADMIT' | 'ADVANCE' | 'SWEEP' | 'OPERATE'

export interface DueWork {
  /** What is to be done at this instant. */
  due: DueKind[]
  /** The next instant at which something is to be done, milliseconds since 1970. */
  next: number | null
  /** Pools that are served and have executions ready. */
  ready: string[]
  /** What the workers hold according to the database, as `executionId:fence`. */
  held: string[]
}

/** `workerIds`: those that live. What any other holds is lost after `lostMs` of silence. */
export async function readDueWork(database: Database, workerIds: readonly string[], lostMs: number): Promise<DueWork> {
  const rows = await database.query<{ due: DueKind[]; next: number | null; ready: string[]; held: string[] }>(
    'read-test-due-work',
    `with instants (what, at) as (
       select 'FIRE', due from carillon.schedules where due is not null
       union all select 'FIRE', due from carillon.retries
       union all select 'FIRE', run_at from carillon.submissions
       union all select 'ADVANCE', $1 from carillon.blocked b where remaining = 0 and not held
         and (not queued or exists (select from carillon.blocked r where r.execution_id = b.run_id and r.has_room))
       union all select 'ADMIT', $1 from carillon.limit_changes
       union all select 'ADMIT', k.next_at from carillon.limit_keys k where exists (
         select from carillon.waiting w where w.key = k.key)
       union all select 'SWEEP', $1 from (select array_agg(execution_id) ids from carillon.blocked where started) s
         where s.ids is not null and carillon.abandoned_runs(s.ids, 1) <> '{}'
       union all select 'SWEEP', due from carillon.deadlines
       union all select 'SWEEP', overdue_at + interval '1 millisecond' from carillon.running
       union all select 'SWEEP', heartbeat_at + heartbeat_timeout_sec * interval '1 second' + interval '1 millisecond'
         from carillon.running where began and heartbeat_timeout_sec is not null
       union all select 'SWEEP', coalesce(w.seen_at, r.leased_at) + ($3 + 1) * interval '1 millisecond'
         from carillon.running r left join carillon.workers w on w.worker_id = r.worker_id
         where r.worker_id <> all ($2::uuid[]) and r.worker_id <> $4
       union all select 'OPERATE', next_at from carillon.operations where state = 'RUNNING'
     )
     select coalesce(array_agg(distinct what) filter (where at <= $1), '{}') due,
       carillon.ms(min(at) filter (where at > $1)) next,
       array(select distinct r.pool from carillon.ready r join carillon.pools p on p.pool = r.pool and not p.paused) ready,
       array(select r.execution_id || ':' || r.fence from carillon.running r where r.worker_id = any ($2::uuid[])) held
     from instants`,
    [database.now, workerIds, lostMs, outsideWorkerId],
  )
  return rows[0]!
}

/** What became of executions that were completed in transactions of their handlers: only those that were. */
export async function readCommitted(
  database: Database,
  executionIds: string[],
): Promise<Map<string, { result: unknown }>> {
  if (executionIds.length === 0) return new Map()
  const rows = await database.query<{ executionId: string; result: string | null }>(
    'read-committed',
    `select execution_id "executionId", result from carillon.executions where execution_id = any ($1::uuid[]) and state = 'SUCCEEDED'`,
    [executionIds],
  )
  return new Map(rows.map((row) => [row.executionId, { result: row.result === null ? null : JSON.parse(row.result) }]))
}

/** Moves a lease to another worker, as if the first had never got it. */
export async function giveLease(database: Database, lease: LeasedExecution, workerId: string): Promise<void> {
  await database.query('give-lease', 'update carillon.leases set worker_id = $2 where lease_id = $1 >> 10', [
    lease.fence,
    workerId,
  ])
}
