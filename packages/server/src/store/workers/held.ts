import { uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

export interface RunningRow {
  fence: number
  workerId: string
  cancelReason: string | null
}

/** Where these executions are running, by id. See functions/worker_news.sql. */
export async function readRunning(database: Database, executionIds: string[]): Promise<Map<string, RunningRow>> {
  const rows = await database.query<{
    execution_id: string
    fence: number
    worker_id: string
    cancel_reason: string | null
  }>('read-running', 'select execution_id, fence, worker_id, cancel_reason from carillon.read_running($1)', [
    uuids(executionIds),
  ])
  return new Map(
    rows.map((row) => [
      row.execution_id,
      { fence: row.fence, workerId: row.worker_id, cancelReason: row.cancel_reason },
    ]),
  )
}

export interface HeldRow {
  executionId: string
  fence: number
  workerId: string
  began: boolean
  /** Milliseconds since 1970. */
  leasedAt: number
}

/**
 * All that workers hold according to the database. Reads all of `running`, with what is dead in it and not cleared away yet:
 * ask seldom, for many workers at once.
 */
export async function readHeld(database: Database, workerIds: string[]): Promise<HeldRow[]> {
  const rows = await database.query<{
    execution_id: string
    fence: number
    worker_id: string
    began: boolean
    leased_at: number
  }>(
    'read-held',
    `select execution_id, fence, worker_id, began, carillon.ms(leased_at) leased_at
     from carillon.running where worker_id = any ($1::uuid[])`,
    [workerIds],
  )
  return rows.map((row) => ({
    executionId: row.execution_id,
    fence: row.fence,
    workerId: row.worker_id,
    began: row.began,
    leasedAt: row.leased_at,
  }))
}

/** Of these executions, those that are not the tenant's. Index: executions_pkey. */
export async function readForeign(database: Database, executionIds: string[], tenant: string): Promise<Set<string>> {
  const rows = await database.query<{ execution_id: string }>(
    'read-foreign',
    `select i.execution_id from unnest($1::uuid[]) i(execution_id)
     where (select e.tenant from carillon.executions e where e.execution_id = i.execution_id) is distinct from $2`,
    [executionIds, tenant],
  )
  return new Set(rows.map((row) => row.execution_id))
}
