import type { Database } from '../database.ts'

export interface WorkerRow {
  workerId: string
  nodeId: string
  name: string
  pools: { pool: string; handlers: string[]; slots: number }[]
}

/** Announces a worker; pools it serves come into being with it. */
export async function registerWorker(database: Database, worker: WorkerRow): Promise<void> {
  await database.query(
    'register-worker',
    `with pools as (
       insert into carillon.pools (pool) select p ->> 'pool' from jsonb_array_elements($4::jsonb) p
       order by 1 on conflict (pool) do nothing)
     insert into carillon.workers (worker_id, node_id, name, pools, seen_at)
     values ($1, $2, $3, $4, coalesce($5, clock_timestamp()))
     on conflict (worker_id) do update set node_id = excluded.node_id, name = excluded.name, pools = excluded.pools, seen_at = excluded.seen_at`,
    [worker.workerId, worker.nodeId, worker.name, JSON.stringify(worker.pools), database.now],
  )
}

export const seeWorkersSql = `
  update carillon.workers set seen_at = coalesce($2, clock_timestamp()) where worker_id = any ($1::uuid[])
  returning worker_id`

/** These workers were heard of just now. Answers those that are known. */
export async function seeWorkers(database: Database, workerIds: string[]): Promise<Set<string>> {
  const rows = await database.query<{ worker_id: string }>('see-workers', seeWorkersSql, [workerIds, database.now])
  return new Set(rows.map((row) => row.worker_id))
}

export interface HeldRow {
  executionId: string
  fence: number
  workerId: string
  began: boolean
  cancelReason: string | null
}

/** What workers hold according to the database. Reads all of `running`: ask for many workers at once. */
export async function readHeld(database: Database, workerIds: string[]): Promise<HeldRow[]> {
  const rows = await database.query<{
    execution_id: string
    fence: number
    worker_id: string
    began: boolean
    cancel_reason: string | null
  }>(
    'read-held',
    `select execution_id, fence, worker_id, began,
       case when cancel_at is not null then cancel_reason end cancel_reason
     from carillon.running where worker_id = any ($1::uuid[])`,
    [workerIds],
  )
  return rows.map((row) => ({
    executionId: row.execution_id,
    fence: row.fence,
    workerId: row.worker_id,
    began: row.began,
    cancelReason: row.cancel_reason,
  }))
}

export async function removeWorkers(database: Database, workerIds: string[]): Promise<void> {
  await database.query('remove-workers', 'delete from carillon.workers where worker_id = any ($1::uuid[])', [workerIds])
}
