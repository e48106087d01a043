import { uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

export interface ExecutionWork {
  executionId: string
  tenant: string
  pool: string
  handler: string
  /** How it has ended, and why; null: it has not. */
  state: 'SUCCEEDED' | 'DEAD' | 'CANCELLED' | 'SKIPPED' | null
  reason: string | null
}

/** Whose executions these are and what runs them, for figures; those that are gone are left out. Index: executions_pkey. */
export async function readWorks(database: Database, executionIds: string[]): Promise<ExecutionWork[]> {
  if (executionIds.length === 0) return []
  return database.query<ExecutionWork & Record<string, unknown>>(
    'read-works',
    `select e.execution_id "executionId", e.tenant, e.pool, e.handler, e.state, e.reason
     from unnest($1::uuid[]) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id`,
    [uuids(executionIds)],
  )
}
