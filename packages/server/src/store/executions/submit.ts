import { bigints, jsonbs, smallints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import type { AnswerEntry } from '../idempotency/answers.ts'
import type { StoredPolicy } from '../rows.ts'
import { bodyText } from './body-text.ts'

/** A submission that is due now, complete but for its place in the queue. */
export interface Submission {
  executionId: string
  tenant: string
  name: string | null
  pool: string
  lane: number
  handler: string
  runAt: number
  /** JSON text. */
  payload: string | null
  policy: StoredPolicy | null
  labels: Record<string, string> | null
  traceparent: string | null
}

/** Writes ledger and ready rows of submissions; `tags` in their order. See functions/submissions/submit.sql. */
export async function submit(database: Database, items: Submission[], tags: number[]): Promise<void> {
  await database.query('submit', 'select carillon.submit($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)', [
    ...submissionArrays(items, tags),
    database.now,
  ])
}

/**
 * The same for a batch in which some have an Idempotency-Key; `entries` in the order of the items. Answers which items
 * were left out because their request was answered before. See functions/submissions/submit_once.sql.
 */
export async function submitOnce(
  database: Database,
  items: Submission[],
  tags: number[],
  entries: (AnswerEntry | null)[],
): Promise<Set<number>> {
  const keyed = entries.flatMap((entry, i) => (entry === null ? [] : [{ ...entry, number: i + 1 }]))
  const rows = await database.query<{ taken: number[] }>(
    'submit-once',
    'select carillon.submit_once($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20) taken',
    [
      keyed.map((e) => e.number),
      keyed.map((e) => e.tenant),
      keyed.map((e) => e.route),
      keyed.map((e) => e.key),
      keyed.map((e) => `\\x${e.hash}`),
      keyed.map((e) => e.answer),
      ...submissionArrays(items, tags),
      database.now,
    ],
  )
  return new Set(rows[0]!.taken.map((number) => number - 1))
}

/** The parameters that the functions take submissions by: one array for each column. */
export function submissionArrays(items: Submission[], tags: number[]): unknown[] {
  return [
    uuids(items.map((i) => i.executionId)),
    texts(items.map((i) => i.tenant)),
    texts(items.map((i) => i.name)),
    texts(items.map((i) => i.pool)),
    smallints(items.map((i) => i.lane)),
    texts(items.map((i) => i.handler)),
    bigints(tags),
    bigints(items.map((i) => i.runAt)),
    texts(items.map((i) => i.payload)),
    jsonbs(items.map((i) => (i.policy === null ? null : JSON.stringify(i.policy)))),
    jsonbs(items.map((i) => (i.labels === null ? null : JSON.stringify(i.labels)))),
    texts(items.map((i) => i.traceparent)),
    texts(items.map(bodyText)),
  ]
}

/** Takes back what was enqueued in a caller's transaction and is not due yet. False: it is not there (any more). */
export async function withdrawSubmission(
  database: Database,
  tenant: string,
  executionId: string,
  { reason, actor }: { reason: string; actor: string },
): Promise<boolean> {
  const rows = await database.query<{ audit_id: number }>(
    'withdraw-submission',
    `with gone as (
       delete from carillon.submissions where execution_id = $1 and tenant = $2 and job_id is null
       returning execution_id, tenant, name, pool, lane, handler, run_at, payload, policy, labels
     ), request as (
       delete from carillon.dedupe_requests where request_id = $1 and tenant = $2 and settled_at is null
       returning request_id, tenant, name, pool, lane, handler, run_at, payload, policy, labels
     ), withdrawn as (
       select * from gone union all select * from request
     ), kept as (
       insert into carillon.jobs (job_id, version, tenant, name, type, run_at, pool, lane, handler, payload, policy, labels,
         state, created_at, updated_at)
       select w.execution_id, 1, w.tenant, coalesce(w.name, w.handler), 'ONE_SHOT', w.run_at, w.pool, w.lane, w.handler, w.payload,
         w.policy, w.labels, 'DELETED', coalesce($5, clock_timestamp()), coalesce($5, clock_timestamp())
       from withdrawn w
     ), stood as (
       insert into carillon.schedules (job_id, shard, version)
       select w.execution_id, carillon.shard_of(w.execution_id, n.shard_count), 1 from withdrawn w, carillon.installation n)
     insert into carillon.audit (at, tenant, actor, action, subject, detail)
     select coalesce($5, clock_timestamp()), w.tenant, $3, 'execution.cancelled', w.execution_id::text,
       jsonb_build_object('reason', $4::text, 'running', false)
     from withdrawn w returning audit_id`,
    [executionId, tenant, actor, reason, database.now],
  )
  return rows.length > 0
}
