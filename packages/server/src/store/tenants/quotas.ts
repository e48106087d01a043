import type { Quotas } from '@carillon/contract'
import type { Database } from '../database.ts'

/** The quotas that nodes hold; the others are held in SQL, where the rows are written. */
export interface NodeQuotas extends Pick<Quotas, 'submissionsPerSec' | 'maxIdempotencyKeys' | 'maxEventStreams'> {
  tenant: string
}

/** Of tenants that have one of them. Index: tenants_with_quotas. */
export function readQuotas(database: Database): Promise<NodeQuotas[]> {
  return database.query<NodeQuotas & { tenant: string }>(
    'read-tenant-quotas',
    `select name tenant, submissions_per_sec "submissionsPerSec", max_idempotency_keys "maxIdempotencyKeys",
       max_event_streams "maxEventStreams"
     from carillon.tenants
     where submissions_per_sec is not null or max_idempotency_keys is not null or max_event_streams is not null`,
  )
}

export interface Budget {
  /** Items that may be submitted; null: the tenant has no such quota any more. */
  granted: number | null
  waitMs: number
}

/** See functions/submissions/take_budget.sql. */
export async function takeBudget(
  database: Database,
  { tenant, first, more }: { tenant: string; first: number; more: number },
): Promise<Budget> {
  const rows = await database.query<{ granted: number | null; wait_ms: number | null }>(
    'take-budget',
    'select granted, wait_ms from carillon.take_budget($1, $2, $3, $4)',
    [tenant, first, more, database.now],
  )
  const { granted, wait_ms: waitMs } = rows[0]!
  return { granted, waitMs: waitMs ?? 0 }
}

/** Keys that are remembered, counted up to `most`. Index: idempotency_pkey; reads the tenant's part of it. */
export async function countAnswers(
  database: Database,
  { tenant, most }: { tenant: string; most: number },
): Promise<number> {
  const rows = await database.query<{ n: number }>(
    'count-answers',
    `select count(*) n from (
       select from carillon.idempotency
       where tenant = $1 and at > coalesce($3, clock_timestamp()) - interval '24 hours' limit $2) i`,
    [tenant, most, database.now],
  )
  return rows[0]!.n
}
