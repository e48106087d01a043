import { bigints, jsonbs, smallints, texts, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'
import type { AnswerEntry } from '../idempotency/answers.ts'
import type { StoredPolicy } from '../rows.ts'

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

/** Writes ledger and ready rows of submissions; `tags` in their order. See functions/submit.sql. */
export async function submit(database: Database, items: Submission[], tags: number[]): Promise<void> {
  await database.query('submit', 'select carillon.submit($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)', [
    ...submissionArrays(items, tags),
    database.now,
  ])
}

/**
 * The same for a batch in which some have an Idempotency-Key; `entries` in the order of the items. Answers which items
 * were left out because their request was answered before. See functions/submit_once.sql.
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
    'select carillon.submit_once($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19) taken',
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
  ]
}

/** Takes back what was enqueued in a caller's transaction and is not due yet. False: it is not there (any more). */
export async function withdrawSubmission(database: Database, tenant: string, executionId: string): Promise<boolean> {
  const rows = await database.query<{ execution_id: string }>(
    'withdraw-submission',
    `with gone as (
       delete from carillon.submissions where execution_id = $1 and tenant = $2 returning *
     ), kept as (
       insert into carillon.jobs (job_id, version, tenant, name, type, run_at, pool, lane, handler, payload, policy, labels,
         state, created_at, updated_at)
       select g.execution_id, 1, g.tenant, coalesce(g.name, g.handler), 'ONE_SHOT', g.run_at, g.pool, g.lane, g.handler, g.payload,
         g.policy, g.labels, 'DELETED', coalesce($3, clock_timestamp()), coalesce($3, clock_timestamp())
       from gone g
     ), stood as (
       insert into carillon.schedules (job_id, shard, version) select g.execution_id, g.shard, 1 from gone g)
     select execution_id from gone`,
    [executionId, tenant, database.now],
  )
  return rows.length > 0
}
