/** Rows of operations: created, read, stopped. */
import type { Operation, Timed } from '@carillon/contract'
import type { Database } from '../database.ts'
import type { Selection } from '../executions/select.ts'
import { type AnswerEntry, AnsweredBefore } from '../idempotency/answers.ts'

export interface BulkParams {
  selection: Selection
  /** CANCEL: which it may touch, whatever they have become meanwhile. */
  what?: 'ANY' | 'PENDING' | 'RUNNING'
}

export interface CopyParams extends BulkParams {
  /** The name of the pool that the copies go to. */
  pool: string
  /** The time in the ids of copies: milliseconds, after everything selected. */
  at: number
}

export interface BackfillParams {
  jobId: string
  from: number
  to: number
  includeSkipped: boolean
  concurrency: number
}

/** Times in milliseconds. */
export interface OperationRecord extends Timed<Operation, 'createdAt' | 'finishedAt', number> {
  tenant: string
  params: BulkParams | CopyParams | BackfillParams
  position: string | null
  open: string[]
  fence: number
}

export type NewOperation = Pick<
  OperationRecord,
  'operationId' | 'tenant' | 'kind' | 'params' | 'total' | 'ratePerSec' | 'createdBy' | 'createdAt'
>

export const operationColumns = `
  o.operation_id "operationId", o.tenant, o.kind, o.params, o.state, o.total, o.done, o.skipped, o.position, o.open,
  o.rate_per_sec "ratePerSec", o.fence, o.created_by "createdBy", carillon.ms(o.created_at) "createdAt",
  carillon.ms(o.finished_at) "finishedAt", o.error`

/** `entry`: the request that asks for it, answered once; throws AnsweredBefore. See functions/operations/operate.sql. */
export async function createOperation(
  database: Database,
  operation: NewOperation,
  entry: AnswerEntry | null,
): Promise<void> {
  const { operationId: id, tenant, kind, params, total, ratePerSec: rate, createdBy: actor, createdAt: at } = operation
  const rows = await database.query<{ created: boolean }>(
    'create-operation',
    'select carillon.create_operation($1, $2, $3) created',
    [
      JSON.stringify({ id, tenant, kind, params, total, rate, actor, at }),
      entry && JSON.stringify(entry),
      database.now,
    ],
  )
  if (!rows[0]!.created) throw new AnsweredBefore()
}

export async function readOperation(
  database: Database,
  tenant: string,
  operationId: string,
): Promise<OperationRecord | null> {
  const rows = await database.query<OperationRecord>(
    'read-operation',
    `select ${operationColumns} from carillon.operations o where o.operation_id = $1 and o.tenant = $2`,
    [operationId, tenant],
  )
  return rows[0] ?? null
}

/** How many of a tenant are under way. Index: operations_next, of all that are. */
export async function countUnderWay(database: Database, tenant: string): Promise<number> {
  const rows = await database.query<{ n: number }>(
    'count-operations',
    `select count(*) n from carillon.operations where state = 'RUNNING' and tenant = $1`,
    [tenant],
  )
  return rows[0]!.n
}

/** Stops it after its current step. False: it is over already. A step under way is waited for. */
export async function stopOperation(
  database: Database,
  { operationId, actor }: { operationId: string; actor: string },
): Promise<boolean> {
  const rows = await database.query<{ n: number }>(
    'stop-operation',
    `with stopped as (
       update carillon.operations set state = 'CANCELLED', finished_at = coalesce($3, clock_timestamp()),
         updated_at = coalesce($3, clock_timestamp())
       where operation_id = $1 and state = 'RUNNING' returning operation_id, tenant, finished_at
     ), noted as (
       insert into carillon.audit (at, tenant, actor, action, subject)
       select finished_at, tenant, $2, 'operation.cancelled', operation_id::text from stopped)
     select count(*) n from stopped`,
    [operationId, actor, database.now],
  )
  return rows[0]!.n > 0
}

/** Ends it as FAILED: it can never go on. */
export async function failOperation(
  database: Database,
  { operationId, fence, error }: { operationId: string; fence: number; error: string },
): Promise<void> {
  await database.query(
    'fail-operation',
    `update carillon.operations set state = 'FAILED', error = $3, finished_at = coalesce($4, clock_timestamp()),
       updated_at = coalesce($4, clock_timestamp())
     where operation_id = $1 and fence = $2 and state = 'RUNNING'`,
    [operationId, fence, error, database.now],
  )
}

/** Removes operations that ended before `before`, at most `limit`; answers how many. Reads all of them: they are few. */
export async function pruneOperations(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with gone as (
       delete from carillon.operations where ctid = any (array(
         select ctid from carillon.operations where finished_at < carillon.at($1) limit $2 for update skip locked))
       returning 1)
     select count(*) n from gone`,
    [before, limit],
  )
  return rows[0]!.n
}
