import type { Origin } from '@carillon/contract'
import type { Database } from '../database.ts'

/** What the ledger has of an execution from its birth on. Times in milliseconds. */
export interface LedgerFacts {
  executionId: string
  name: string | null
  handler: string
  pool: string
  origin: Origin
  labels: Record<string, string> | null
  scheduledFor: number
  dueAt: number
  attempt: number
}

/** Those whose history has ended are left out. Index: executions_pkey. */
export async function readLedgerFacts(database: Database, ids: string[]): Promise<Map<string, LedgerFacts>> {
  const rows = await database.query<LedgerFacts & Record<string, unknown>>(
    'ledger-facts',
    `select e.execution_id "executionId", e.name, e.handler, carillon.pool_name(e.pool) pool, e.origin, e.labels,
       carillon.ms(e.scheduled_for) "scheduledFor", carillon.ms(e.due_at) "dueAt", e.attempt
     from unnest($1::uuid[]) i(id) join carillon.executions e on e.execution_id = i.id`,
    [ids],
  )
  return new Map(rows.map((row) => [row.executionId, row]))
}
