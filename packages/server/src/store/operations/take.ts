import { operationKinds } from '@carillon/contract'
import type { Database } from '../database.ts'
import { type OperationRecord, operationColumns } from './operations.ts'

/** How long a node may be silent over a step before another takes the operation up. */
const leaseMs = 5_000

/** Takes up the operation of a known kind that has waited longest; null: none is due. See functions/operations/operate.sql. */
export async function takeOperation(database: Database): Promise<OperationRecord | null> {
  const rows = await database.query<OperationRecord>(
    'take-operation',
    `select ${operationColumns} from carillon.take_known_operation($1, $2, $3) o`,
    [operationKinds, leaseMs, database.now],
  )
  return rows[0] ?? null
}

/** When the next one is due, milliseconds since 1970. Index: operations_next. */
export async function readNextOperation(database: Database): Promise<number | null> {
  const rows = await database.query<{ at: number | null }>(
    'read-next-operation',
    `select carillon.ms(min(next_at)) at from carillon.operations where state = 'RUNNING' and kind = any ($1)`,
    [operationKinds],
  )
  return rows[0]!.at
}
