/**
 * What enters `ready` at a given time: retries, hand-backs, and submissions of callers' transactions.
 * Two tables, one shape: read what is due soon, later move it with a tag.
 */
import type { Database } from '../database.ts'
import { type QueuedWork, queuedOf } from '../rows.ts'
import type { DueWindow } from '../schedules/read-due.ts'
import type { LedShard } from '../shards/claim.ts'

export interface DueReturn {
  executionId: string
  shard: number
  due: number
  tenant: string
  pool: string
  lane: number
  /** Of a submission; a retry need not know it. */
  handler?: string
  /** Of a submission: it is an execution of a job that follows another one. */
  follows?: boolean
}

export type ReturnSource = 'retries' | 'submissions'

const readSql: Record<ReturnSource, string> = {
  retries: 'select * from carillon.read_due_retries($1, $2, $3, $4, $5)',
  submissions: 'select * from carillon.read_due_enqueued($1, $2, $3, $4, $5)',
}

/** Earliest first; of `only` if given. See functions/firing/read_due.sql. */
export async function readDueReturns(
  database: Database,
  source: ReturnSource,
  window: DueWindow,
  only?: string[],
): Promise<DueReturn[]> {
  const rows = await database.query<{
    execution_id: string
    shard: number
    due: number
    tenant: string
    pool: string
    lane: number
    handler?: string
    follows?: boolean
  }>(`read-due-${source}`, readSql[source], [window.shards, window.from, window.until, window.limit, only ?? null])
  return rows.map((row) => ({
    executionId: row.execution_id,
    shard: row.shard,
    due: row.due,
    tenant: row.tenant,
    pool: row.pool,
    lane: row.lane,
    ...(row.handler !== undefined && { handler: row.handler, follows: row.follows === true }),
  }))
}

const fireSql: Record<ReturnSource, string> = {
  retries: 'select * from carillon.fire_retries($1, $2, $3, $4, $5)',
  submissions: 'select * from carillon.fire_submissions($1, $2, $3, $4, $5)',
}

export async function fireReturns(
  database: Database,
  source: ReturnSource,
  shards: LedShard[],
  items: { executionId: string; tag: number }[],
): Promise<{ moved: string[]; queued: QueuedWork[] }> {
  const rows = await database.query<{ moved: string[] | null; queued: [string, number, number, number][] | null }>(
    `fire-${source}`,
    fireSql[source],
    [
      shards.map((s) => s.shard),
      shards.map((s) => s.epoch),
      items.map((i) => i.executionId),
      items.map((i) => i.tag),
      database.now,
    ],
  )
  return { moved: rows[0]?.moved ?? [], queued: queuedOf(rows[0]?.queued ?? null) }
}
