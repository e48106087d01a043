/**
 * Rows that are to be added up come joined, their figures one after the other: what adds them up reads on. [m] Of 11,000 rows the driver
 * took longer for each row than for what is in it.
 */
import type { Database } from '../database.ts'
import type { StoredStep } from './figures.ts'

export interface StatsRange {
  step: StoredStep
  from: number
  to: number
}

/** By the time at which each minute or hour begins, of these pools and this handler (empty: of all). Index: stats_pkey. */
export async function readTimes(
  database: Database,
  { tenant, step, from, to }: StatsRange & { tenant: string },
  { pools, handler }: { pools: string[]; handler: string },
): Promise<{ at: number; figures: Buffer }[]> {
  return database.query<{ at: number; figures: Buffer }>(
    'read-stats-times',
    `select carillon.ms(s.at) at, string_agg(s.figures, '') figures from carillon.stats s
     where s.step = $1 and s.tenant = $2 and s.pool = any ($3) and s.handler = $4 and s.at >= carillon.at($5) and s.at < carillon.at($6)
     group by s.at order by s.at`,
    [step, tenant, pools, handler, from, to],
  )
}

/** By tenant, pool and handler; of those that are named. Index: stats_at. */
export async function readSums(
  database: Database,
  { tenants, step, from, to }: StatsRange & { tenants: string[] },
  { pool, handler }: { pool: string | null; handler: string | null } = { pool: null, handler: null },
): Promise<{ tenant: string; pool: string; handler: string; figures: Buffer }[]> {
  return database.query<{ tenant: string; pool: string; handler: string; figures: Buffer }>(
    'read-stats-sums',
    `select s.tenant, s.pool, s.handler, string_agg(s.figures, '') figures from carillon.stats s
     where s.step = $1 and s.tenant = any ($2) and s.at >= carillon.at($3) and s.at < carillon.at($4) and s.pool <> '' and s.handler <> ''
       and ($5::text is null or s.pool = $5) and ($6::text is null or s.handler = $6)
     group by s.tenant, s.pool, s.handler`,
    [step, tenants, from, to, pool, handler],
  )
}

/** By day and pool, of all handlers. Index: stats_at. */
export async function readPoolDays(
  database: Database,
  { tenant, from, to }: { tenant: string; from: number; to: number },
): Promise<{ at: number; pool: string; figures: Buffer }[]> {
  return database.query<{ at: number; pool: string; figures: Buffer }>(
    'read-stats-pool-days',
    `select carillon.ms(s.at) at, s.pool, s.figures from carillon.stats s
     where s.step = 'DAY' and s.tenant = $1 and s.at >= carillon.at($2) and s.at < carillon.at($3) and s.handler = '' and s.pool <> ''
     order by s.at, s.pool`,
    [tenant, from, to],
  )
}

/** Whole days of tenants, added up. Index: stats_pkey. */
export async function readTenantDays(
  database: Database,
  { tenants, from, to }: { tenants: string[]; from: number; to: number },
): Promise<{ tenant: string; figures: Buffer }[]> {
  return database.query<{ tenant: string; figures: Buffer }>(
    'read-stats-tenant-days',
    `select s.tenant, string_agg(s.figures, '') figures from carillon.stats s
     where s.step = 'DAY' and s.tenant = any ($1) and s.pool = '' and s.handler = '' and s.at >= carillon.at($2) and s.at < carillon.at($3)
     group by s.tenant order by s.tenant`,
    [tenants, from, to],
  )
}
