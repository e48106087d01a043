import { type Quotas, quotaNames, type Timed } from '@carillon/contract'
import type { Tenant } from '@carillon/contract/api'
import type { Database } from '../database.ts'

/** Its times are instants of PostgreSQL. */
export type TenantRecord = Timed<Tenant, 'createdAt' | 'updatedAt', Date>

/** Where each quota is kept. */
const quotaColumns: Record<keyof Quotas, string> = {
  maxJobs: 'max_jobs',
  submissionsPerSec: 'submissions_per_sec',
  maxPools: 'max_pools',
  maxWorkers: 'max_workers',
  maxIdempotencyKeys: 'max_idempotency_keys',
  maxEventStreams: 'max_event_streams',
}

const columnsOf = (of: string) =>
  [
    ...['name', 'weight', 'description', 'version'].map((column) => of + column),
    `${of}jitter_sec "jitterSec"`,
    ...quotaNames.map((quota) => `${of}${quotaColumns[quota]} "${quota}"`),
    ...[`${of}created_at "createdAt"`, `${of}updated_at "updatedAt"`],
  ].join(', ')
const columns = columnsOf('')

/** By name, after `after`. Index: tenants_pkey. */
export function readTenants(
  database: Database,
  { after, limit }: { after: string; limit: number },
): Promise<TenantRecord[]> {
  return database.query<TenantRecord>(
    'read-tenants',
    `select ${columns} from carillon.tenants where name > $1 order by name limit $2`,
    [after, limit],
  )
}

export async function readTenant(database: Database, name: string): Promise<TenantRecord | null> {
  const rows = await database.query<TenantRecord>(
    'read-tenant',
    `select ${columns} from carillon.tenants where name = $1`,
    [name],
  )
  return rows[0] ?? null
}

export async function isDeclared(database: Database, name: string): Promise<boolean> {
  const rows = await database.query('is-tenant-declared', 'select from carillon.tenants where name = $1', [name])
  return rows.length > 0
}

/** Those other than 1. Index: tenants_weighted. */
export async function readWeights(database: Database): Promise<Map<string, number>> {
  const rows = await database.query<{ name: string; weight: number }>(
    'read-tenant-weights',
    'select name, weight from carillon.tenants where weight <> 1',
  )
  return new Map(rows.map(({ name, weight }) => [name, weight]))
}

/** The default of its schedules; null: it has none. Index: tenants_pkey. */
export async function readDefaultJitter(database: Database, name: string): Promise<number | null> {
  const rows = await database.query<{ jitterSec: number | null }>(
    'read-tenant-jitter',
    'select jitter_sec "jitterSec" from carillon.tenants where name = $1',
    [name],
  )
  return rows[0]?.jitterSec ?? null
}

export interface PutTenant extends Quotas {
  name: string
  weight: number
  description: string | null
  jitterSec: number | null
  /** Null: whichever there is. */
  version: number | null
  actor: string
}

/** `tenant` is null if a version was asked for and there is no such tenant. */
export interface TenantPut {
  verdict: 'CREATED' | 'UPDATED' | 'UNCHANGED' | 'MISMATCH'
  tenant: TenantRecord | null
}

/** See functions/administration/tenants.sql. */
export async function putTenant(database: Database, put: PutTenant): Promise<TenantPut> {
  const { name, weight, description, jitterSec, version, actor } = put
  const quotas = Object.fromEntries(quotaNames.map((quota) => [quotaColumns[quota], put[quota]]))
  const rows = await database.query<TenantRecord & { verdict: TenantPut['verdict']; name: string | null }>(
    'put-tenant',
    `select verdict, ${columnsOf('(tenant).')} from carillon.declare_tenant($1, $2, $3, $4)`,
    [JSON.stringify({ name, weight, description, jitter_sec: jitterSec, ...quotas }), version, actor, database.now],
  )
  const { verdict, ...tenant } = rows[0]!
  return { verdict, tenant: tenant.name === null ? null : tenant }
}

export interface TenantDeletion {
  verdict: 'DELETED' | 'UNKNOWN' | 'MISMATCH' | 'JOBS' | 'GRAPHS' | 'EXECUTIONS' | 'POOLS' | 'TOKENS'
  version: number | null
}

/** It may read everything that is unfinished. */
const deleteMs = 10_000

/** See functions/administration/tenants.sql. */
export async function deleteTenant(
  database: Database,
  { name, version, actor }: Pick<PutTenant, 'name' | 'version' | 'actor'>,
): Promise<TenantDeletion> {
  const rows = await database.query<TenantDeletion>(
    'delete-tenant',
    'select verdict, version from carillon.delete_tenant($1, $2, $3, $4)',
    [name, version, actor, database.now],
    { withinMs: deleteMs },
  )
  return rows[0]!
}
