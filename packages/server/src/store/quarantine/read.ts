/** What is in quarantine. Locks: none. */
import type { QuarantinedRow, QuarantineSource, Timed } from '@carillon/contract'
import type { Database } from '../database.ts'

/** `at` in milliseconds. */
export type Quarantined = Timed<QuarantinedRow, 'at', number>

const columns = `q.quarantine_id "quarantineId", q.source, q.key, q.tenant, q.execution_id "executionId", q.job_id "jobId",
  q.call, q.code, q.message, carillon.ms(q.at) at, q.content "row"`

export interface QuarantineFilter {
  /** Null: any, and those of no tenant. */
  tenant: string | null
  source: QuarantineSource | null
  /** An execution, a job or an operation. */
  about: string | null
  before: number
  limit: number
}

/** Newest first. Indexes: quarantine_pkey, quarantine_tenant. */
export function listQuarantined(database: Database, filter: QuarantineFilter): Promise<Quarantined[]> {
  const { tenant, source, about, before, limit } = filter
  return database.query<Quarantined & Record<string, unknown>>(
    null,
    `select ${columns} from carillon.quarantine q
     where ($1::text is null or q.tenant = $1) and ($2::text is null or q.source = $2) and q.quarantine_id < $4
       and ($3::uuid is null or q.execution_id = $3 or q.job_id = $3 or q.key ->> 'operation_id' = $3::text)
     order by q.quarantine_id desc limit $5`,
    [tenant, source, about, before, limit],
  )
}

export async function readQuarantined(database: Database, quarantineId: number): Promise<Quarantined | null> {
  const sql = `select ${columns} from carillon.quarantine q where q.quarantine_id = $1`
  return (
    (await database.query<Quarantined & Record<string, unknown>>('read-quarantined', sql, [quarantineId]))[0] ?? null
  )
}

/** What is in quarantine of an execution, the newest; null: nothing. Index: quarantine_execution. */
export async function readQuarantinedExecution(
  database: Database,
  tenant: string,
  executionId: string,
): Promise<Quarantined | null> {
  const rows = await database.query<Quarantined & Record<string, unknown>>(
    'read-quarantined-execution',
    `select ${columns} from carillon.quarantine q where q.execution_id = $1 and q.tenant = $2
     order by q.quarantine_id desc limit 1`,
    [executionId, tenant],
  )
  return rows[0] ?? null
}

/** How many there are by source, counted up to `most` in all. */
export async function countQuarantined(database: Database, most: number): Promise<Record<string, number>> {
  const rows = await database.query<{ source: string; n: number }>(
    'count-quarantined',
    `select q.source, count(*) n from (select source from carillon.quarantine limit $1) q group by q.source`,
    [most],
  )
  return Object.fromEntries(rows.map(({ source, n }) => [source, n]))
}

export interface QuarantineGroup {
  source: QuarantineSource
  code: string
  message: string
  count: number
  examples: { quarantineId: number; key: Record<string, unknown> }[]
}

/** By table and error, the largest group first; of the newest `most` rows. */
export function groupQuarantined(database: Database, most: number): Promise<QuarantineGroup[]> {
  return database.query<QuarantineGroup & Record<string, unknown>>(
    null,
    `select q.source, q.code, min(q.message) message, count(*) "count",
       (array_agg(jsonb_build_object('quarantineId', q.quarantine_id, 'key', q.key) order by q.quarantine_id desc))[1:3] examples
     from (select * from carillon.quarantine order by quarantine_id desc limit $1) q
     group by q.source, q.code order by count(*) desc, q.source, q.code`,
    [most],
  )
}
