import type { Database } from '../database.ts'

export interface HeldRow {
  executionId: string
  fence: number
  workerId: string
  began: boolean
  /** Milliseconds since 1970. */
  leasedAt: number
  cancelReason: string | null
}

/** What workers hold according to the database. Reads all of `running`: ask for many workers at once. */
export async function readHeld(database: Database, workerIds: string[]): Promise<HeldRow[]> {
  const rows = await database.query<{
    execution_id: string
    fence: number
    worker_id: string
    began: boolean
    leased_at: number
    cancel_reason: string | null
  }>(
    'read-held',
    `select execution_id, fence, worker_id, began, carillon.ms(leased_at) leased_at,
       case when cancel_at is not null then cancel_reason end cancel_reason
     from carillon.running where worker_id = any ($1::uuid[])`,
    [workerIds],
  )
  return rows.map((row) => ({
    executionId: row.execution_id,
    fence: row.fence,
    workerId: row.worker_id,
    began: row.began,
    leasedAt: row.leased_at,
    cancelReason: row.cancel_reason,
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
