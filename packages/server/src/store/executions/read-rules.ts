import type { Database } from '../database.ts'
import { type Policy, policyOf, type StoredPolicy } from '../rows.ts'

/** What decides how a failed attempt goes on. */
export interface ExecutionRules {
  policy: Policy
  deadlineAt: number | null
  /** Attempts used so far, the running one not counted. */
  attempt: number
  /** Times its worker was lost, or its time ran out, before its handler had begun. */
  freeReturns: number
  /** Whether its handler has begun under the present lease, as far as the node was told. */
  began: boolean
  /** It only starts a run, which another attempt finds: see dags/started-runs.ts. */
  startsRun: boolean
  /** When it was first handed back for want of its handler. */
  unknownHandlerSince: number | null
}

/**
 * The rules of executions, by id. Only failures need them, so a success costs nothing. What came before a
 * replay does not count.
 */
export async function readRules(database: Database, ids: string[]): Promise<Map<string, ExecutionRules>> {
  const rows = await database.query<{
    execution_id: string
    policy: StoredPolicy | null
    deadline_at: number | null
    attempt: number
    free_returns: number
    began: boolean
    starts_run: boolean
    unknown_since: number | null
  }>(
    'read-rules',
    `select e.execution_id, coalesce(e.policy, j.policy, v.policy) policy, carillon.ms(e.deadline_at) deadline_at, e.attempt,
       past.free_returns, past.unknown_since, coalesce(r.began, true) began, e.handler = 'carillon.dag' starts_run
     from carillon.executions e
     left join lateral carillon.held(e) r on true
     left join carillon.jobs j on j.job_id = e.job_id and j.version = e.job_version
     left join carillon.job_versions v on v.job_id = e.job_id and v.version = e.job_version and j.job_id is null
     -- A value that is no history, written by hand, counts for nothing.
     cross join lateral (select case when jsonb_typeof(e.history) = 'array' then e.history end history) l
     cross join lateral (
       select count(*) filter (where h.entry ->> 'to' = 'HANDED_BACK' and h.entry ->> 'reason' in ('WORKER_LOST', 'TIMED_OUT'))
           free_returns,
         min((h.entry ->> 'at')::bigint) filter (where h.entry ->> 'reason' = 'UNKNOWN_HANDLER') unknown_since
       from jsonb_array_elements(l.history) with ordinality h(entry, n)
       where h.n > coalesce((select max(b.n) from jsonb_array_elements(l.history) with ordinality b(entry, n)
                             where b.entry ->> 'to' = 'PENDING'), 0)) past
     where e.execution_id = any ($1::uuid[])`,
    [ids],
  )
  return new Map(
    rows.map((row) => [
      row.execution_id,
      {
        policy: policyOf(row.policy),
        deadlineAt: row.deadline_at,
        attempt: row.attempt,
        freeReturns: row.free_returns,
        began: row.began,
        startsRun: row.starts_run,
        unknownHandlerSince: row.unknown_since,
      },
    ]),
  )
}
