import { bigints, uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

export interface HeldLease {
  fence: number
  workerId: string
  cancelReason: string | null
}

export interface NamedExecution {
  executionId: string
  fence: number
}

/** Of executions that are named with their fences, those that are held, by id. See functions/leases/leases.sql. */
export async function readHeld(database: Database, named: NamedExecution[]): Promise<Map<string, HeldLease>> {
  const rows = await database.query<HeldLease & { executionId: string }>(
    'read-held',
    `select execution_id "executionId", fence, worker_id "workerId", cancel_reason "cancelReason"
     from carillon.read_held($1, $2)`,
    [uuids(named.map((n) => n.executionId)), bigints(named.map((n) => n.fence))],
  )
  return new Map(rows.map(({ executionId, ...held }) => [executionId, held]))
}

export interface HeldRow {
  executionId: string
  fence: number
  workerId: string
  began: boolean
  /** Milliseconds since 1970. */
  leasedAt: number
}

/** What workers hold according to the database but for what they name. Reads all leases: ask seldom, for many workers at once. */
export async function readUnnamed(database: Database, workerIds: string[], fences: number[]): Promise<HeldRow[]> {
  return database.query<HeldRow & Record<string, unknown>>(
    'read-unnamed',
    `select execution_id "executionId", fence, worker_id "workerId", began, leased_at "leasedAt"
     from carillon.read_unnamed($1, $2)`,
    [uuids(workerIds), bigints(fences)],
  )
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
