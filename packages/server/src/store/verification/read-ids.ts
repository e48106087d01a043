/** Ids of the ledger with what they should be computed from, in pages. See functions/verify.sql. */
import type { Database } from '../database.ts'

export interface IdRow {
  id: string
  jobId: string
  tenant: string
  nominal: number
  origin: string
  /** It fires once, or has: then its job's own id may be the right one. */
  once: boolean
}

export interface IdsPage {
  rows: IdRow[]
  /** The last row that was walked over. Null: there are no more. */
  last: string | null
}

export interface IdsScope {
  /** Null: every tenant. */
  tenant: string | null
  /** Null: all of them. */
  jobId: string | null
  /** Exclusive. */
  afterId: string
  /** Exclusive. */
  beforeId: string
  limit: number
}

export async function readIds(database: Database, scope: IdsScope): Promise<IdsPage> {
  const { tenant, jobId, afterId, beforeId, limit } = scope
  const rows = await database.query<IdRow & { last: string; walked: number }>(
    'verify-ids',
    `select last_id "last", walked, id, job_id "jobId", tenant, nominal, origin, once
     from carillon.verify_ids($1, $2, $3, $4, $5)`,
    [tenant, jobId, afterId, beforeId, limit],
  )
  const first = rows[0]
  return {
    rows: rows.filter(({ id }) => id !== null),
    last: first === undefined || first.walked < limit ? null : first.last,
  }
}
