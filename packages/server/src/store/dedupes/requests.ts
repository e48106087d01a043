/** Submissions with a dedupe key that were enqueued in SQL and are to be decided. See functions/submissions/enqueue.sql. */
import type { DedupeVerdict } from '@carillon/contract'
import type { Database } from '../database.ts'
import type { Submission } from '../executions/submit.ts'

export interface DedupeRequest extends Omit<Submission, 'executionId'> {
  /** The id that the caller got: its execution's, if it becomes one at the time it asked for. */
  id: string
  dedupe: object
}

/** Those not decided yet, in the order of the calls. Index: dedupe_requests_open. */
export async function readDedupeRequests(database: Database, limit: number): Promise<DedupeRequest[]> {
  return database.query<DedupeRequest & Record<string, unknown>>(
    'read-dedupe-requests',
    `select q.request_id id, q.tenant, q.name, q.pool, q.lane, q.handler, carillon.ms(q.run_at) "runAt", q.payload, q.policy,
       q.labels, q.traceparent, q.dedupe
     from carillon.dedupe_requests q where q.settled_at is null order by q.at limit $1`,
    [limit],
  )
}

export type Settlement =
  | { verdict: Extract<DedupeVerdict, 'KEPT'>; executionId: string }
  | { verdict: 'REFUSED'; error: string }

/** Records the verdict on a request that created nothing. Harmless if another node was quicker. */
export async function settleDedupeRequest(database: Database, id: string, settlement: Settlement): Promise<void> {
  const { verdict } = settlement
  await database.query(
    'settle-dedupe-request',
    `update carillon.dedupe_requests
     set settled_at = coalesce($5, clock_timestamp()), verdict = $2, execution_id = $3, error = $4
     where request_id = $1 and settled_at is null`,
    [
      id,
      verdict,
      verdict === 'KEPT' ? settlement.executionId : null,
      verdict === 'REFUSED' ? settlement.error : null,
      database.now,
    ],
  )
}

/** What a caller got for an enqueue in SQL: the execution that holds the key, or that it is not decided. Null: it is no such id. */
export async function readDedupeRequest(
  database: Database,
  tenant: string,
  id: string,
): Promise<{ executionId: string | null; error: string | null } | null> {
  const rows = await database.query<{ executionId: string | null; error: string | null }>(
    'read-dedupe-request',
    `select q.execution_id "executionId", q.error from carillon.dedupe_requests q where q.request_id = $1 and q.tenant = $2`,
    [id, tenant],
  )
  return rows[0] ?? null
}

/** Removes what was decided more than a day ago, at most `limit`. Index: dedupe_requests_settled. */
export async function pruneDedupeRequests(database: Database, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with gone as (
       delete from carillon.dedupe_requests where request_id = any (array(
         select request_id from carillon.dedupe_requests
         where settled_at <= coalesce($2, clock_timestamp()) - interval '24 hours' limit $1 for update skip locked))
       returning 1)
     select count(*) n from gone`,
    [limit, database.now],
  )
  return rows[0]!.n
}
