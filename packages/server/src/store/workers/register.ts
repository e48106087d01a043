import type { PoolRegistration } from '@carillon/contract'
import type { Database } from '../database.ts'
import type { Claimed } from '../pools/pools.ts'

export interface WorkerRow {
  workerId: string
  nodeId: string
  /** Who registered it; null: a platform worker. */
  tenant: string | null
  name: string
  pools: PoolRegistration[]
}

export type Registered =
  | { verdict: 'REGISTERED'; keys: Record<string, string> }
  | { verdict: 'FOREIGN_POOLS'; pools: string[] }
  | { verdict: 'TOO_MANY_POOLS'; limit: number }
  | { verdict: 'OTHERS' }

/** See functions/workers/register_worker.sql. OTHERS: the id is another tenant's worker. */
export async function registerWorker(database: Database, worker: WorkerRow, maxPools = 100): Promise<Registered> {
  const { workerId, nodeId, tenant, name, pools } = worker
  const rows = await database.query<{ claimed: Claimed | null }>(
    'register-worker',
    'select carillon.register_worker($1, $2, $3, $4, $5, $6, $7) claimed',
    [workerId, nodeId, tenant, name, JSON.stringify(pools), maxPools, database.now],
  )
  const { claimed } = rows[0]!
  if (claimed === null) return { verdict: 'OTHERS' }
  if ('foreign' in claimed) return { verdict: 'FOREIGN_POOLS', pools: claimed.foreign }
  if ('limit' in claimed) return { verdict: 'TOO_MANY_POOLS', limit: claimed.limit }
  return { verdict: 'REGISTERED', keys: claimed.keys ?? {} }
}

export async function readWorker(database: Database, workerId: string): Promise<Omit<WorkerRow, 'nodeId'> | null> {
  const rows = await database.query<{ tenant: string | null; name: string; pools: PoolRegistration[] }>(
    'read-worker',
    'select tenant, name, pools from carillon.workers where worker_id = $1',
    [workerId],
  )
  return rows[0] ? { workerId, ...rows[0] } : null
}

/** Locks by id: a worker may speak to several nodes, and its own node's keep-alive thread speaks for it too. */
export const seeWorkersSql = `
  update carillon.workers w set seen_at = coalesce($2, clock_timestamp())
  from (select worker_id from carillon.workers where worker_id = any ($1::uuid[]) order by worker_id for update) known
  where w.worker_id = known.worker_id
  returning w.worker_id`

/** These workers were heard of just now. Answers those that are known. */
export async function seeWorkers(database: Database, workerIds: string[]): Promise<Set<string>> {
  const rows = await database.query<{ worker_id: string }>('see-workers', seeWorkersSql, [workerIds, database.now])
  return new Set(rows.map((row) => row.worker_id))
}

/** Those of these workers that some node heard of within `silentMs`. Index: workers_pkey. */
export async function readLive(database: Database, workerIds: string[], silentMs: number): Promise<Set<string>> {
  const rows = await database.query<{ worker_id: string }>(
    'read-live',
    `select worker_id from carillon.workers
     where worker_id = any ($1::uuid[]) and seen_at >= coalesce($3, clock_timestamp()) - $2 * interval '1 millisecond'`,
    [workerIds, silentMs, database.now],
  )
  return new Set(rows.map((row) => row.worker_id))
}

export async function removeWorkers(database: Database, workerIds: string[]): Promise<void> {
  await database.query('remove-workers', 'delete from carillon.workers where worker_id = any ($1::uuid[])', [workerIds])
}
