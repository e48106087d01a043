import { timeOf } from '../../domain/identity.ts'
import type { Database } from '../database.ts'
import type { StoredPolicy } from '../rows.ts'
import type { ExecutionRecord } from './read.ts'

/**
 * An execution that was cancelled before it fired. It has no row in the ledger, whose partitions may not reach as far as its
 * time; the deleted job is its record, and is kept as long as history of that age is. Null: no such thing. Index: jobs_by_id.
 */
export async function readWithdrawn(database: Database, tenant: string, id: string): Promise<ExecutionRecord | null> {
  const rows = await database.query<{
    name: string
    pool: string
    lane: number
    handler: string
    payload: string | null
    policy: StoredPolicy | null
    labels: Record<string, string> | null
    run_at: number | null
    removed_at: number
  }>(
    'read-withdrawn',
    `select j.name, j.pool, j.lane, j.handler, j.payload, j.policy, j.labels, carillon.ms(j.run_at) run_at,
       carillon.ms(j.updated_at) removed_at
     from carillon.jobs j
     where j.job_id = $1 and j.tenant = $2 and j.type in ('ONE_SHOT', 'DELAYED') and j.state = 'DELETED'`,
    [id, tenant],
  )
  const row = rows[0]
  if (!row) return null
  const { name, pool, lane, handler, payload, policy, labels, removed_at: removedAt } = row
  const due = row.run_at ?? timeOf(id)
  return {
    ...{ executionId: id, jobId: id, jobVersion: null, name, tenant, pool, lane, handler, payload, policy },
    ...{ origin: 'SUBMIT', scheduledFor: due, dueAt: due, firedAt: removedAt, startedAt: null, finishedAt: removedAt },
    ...{ state: 'CANCELLED', reason: 'CANCELLED', attempt: 0, workerId: null, fence: null, progress: null },
    ...{ result: null, error: null, labels: labels ?? {}, traceparent: null, skippedCount: null, history: [] },
  }
}
