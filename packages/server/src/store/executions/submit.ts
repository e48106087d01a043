import type { Database } from '../database.ts'
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
    items.map((i) => i.executionId),
    items.map((i) => i.tenant),
    items.map((i) => i.name),
    items.map((i) => i.pool),
    items.map((i) => i.lane),
    items.map((i) => i.handler),
    tags,
    items.map((i) => i.runAt),
    items.map((i) => i.payload),
    items.map((i) => (i.policy === null ? null : JSON.stringify(i.policy))),
    items.map((i) => (i.labels === null ? null : JSON.stringify(i.labels))),
    items.map((i) => i.traceparent),
    database.now,
  ])
}

/** Takes back what was enqueued in a caller's transaction and is not due yet. False: it is not there (any more). */
export async function withdrawSubmission(database: Database, tenant: string, executionId: string): Promise<boolean> {
  const rows = await database.query<{ execution_id: string }>(
    'withdraw-submission',
    'delete from carillon.submissions where execution_id = $1 and tenant = $2 returning execution_id',
    [executionId, tenant],
  )
  return rows.length > 0
}
