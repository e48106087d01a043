/** Limits as they are declared. */
import type { Timed } from '@carillon/contract'
import type { Limit, LimitUsage } from '@carillon/contract/api'
import { isId } from '../../domain/identity.ts'
import { poolName } from '../../domain/pool-key.ts'
import type { Database } from '../database.ts'

/** Its times are instants of PostgreSQL. */
export type LimitRecord = Timed<Limit, 'createdAt' | 'updatedAt', Date>

export interface FoundLimit {
  id: number
  limit: LimitRecord
}

type Row = Omit<LimitRecord, 'of' | 'rate'> & {
  id: number
  subject: string | null
  rateCount: number | null
  rateSec: number | null
}

const columns = [
  ...['limit_id id', 'tenant', 'name', 'scope "for"', 'subject', 'concurrency', 'rate_count "rateCount"'],
  ...['rate_sec "rateSec"', 'description', 'version', 'created_at "createdAt"', 'updated_at "updatedAt"'],
]

function found({ id, subject, rateCount, rateSec, ...row }: Row): FoundLimit {
  const { name, tenant, concurrency, description, version, createdAt, updatedAt } = row
  const of = row.for === 'POOL' && subject !== null ? poolName(subject) : subject
  const rate = rateCount === null ? null : { count: rateCount, perSec: rateSec! }
  return {
    id,
    limit: { name, tenant, for: row.for, of, concurrency, rate, description, version, createdAt, updatedAt },
  }
}

/** Whose: a tenant's; null: the installation's. */
export type LimitOwner = string | null

/** By name, after `after`. Index: limits_tenant_name_key. */
export async function readLimits(
  database: Database,
  { owner, after, limit }: { owner: LimitOwner; after: string; limit: number },
): Promise<LimitRecord[]> {
  const rows = await database.query<Row>(
    'read-limits',
    `select ${columns} from carillon.limits where tenant is not distinct from $1 and name > $2 order by name limit $3`,
    [owner, after, limit],
  )
  return rows.map((row) => found(row).limit)
}

export async function readLimit(database: Database, owner: LimitOwner, name: string): Promise<FoundLimit | null> {
  const rows = await database.query<Row>(
    'read-limit',
    `select ${columns} from carillon.limits where tenant is not distinct from $1 and name = $2`,
    [owner, name],
  )
  return rows[0] ? found(rows[0]) : null
}

const mostUsed = 20

/** See carillon.limit_usage in functions/administration/limits.sql. */
export async function readUsage(database: Database, { id, limit }: FoundLimit): Promise<LimitUsage[]> {
  const rows = await database.query<{ key: string; taken: string | number; waiting: string | number }>(
    'read-limit-usage',
    'select key, taken::int, waiting::int from carillon.limit_usage($1, $2)',
    [id, mostUsed],
  )
  return rows.map(({ key, taken, waiting }) => ({
    key: limit.for === 'POOL' ? poolName(key) : key,
    taken: Number(taken),
    waiting: Number(waiting),
  }))
}

/** Names of the limits for keys that executions of a tenant may name: its own, and the installation's. */
export async function readKeyLimits(database: Database, tenant: string): Promise<Set<string>> {
  const rows = await database.query<{ name: string }>(
    'read-key-limits',
    `select name from carillon.limits where scope = 'KEY' and (tenant is null or tenant = $1) order by name`,
    [tenant],
  )
  return new Set(rows.map(({ name }) => name))
}

/** The id of a job that is not deleted: by its id, else its key. For the installation (`owner` null) ids of all tenants count. */
export async function readLimitedJob(
  database: Database,
  { owner, tenant, job }: { owner: LimitOwner; tenant: string; job: string },
): Promise<string | null> {
  const rows = await database.query<{ id: string }>(
    'read-limited-job',
    `select id from (
       (select 1 place, job_id id from carillon.jobs
        where job_id = $1 and state <> 'DELETED' and ($2::text is null or tenant = $2))
       union all
       (select 2, job_id from carillon.jobs where tenant = $3 and key = $4 and state <> 'DELETED' limit 1)) named
     order by place limit 1`,
    [isId(job) ? job : null, owner, tenant, job],
  )
  return rows[0]?.id ?? null
}

export interface PutLimit {
  owner: LimitOwner
  name: string
  for: Limit['for']
  /** As executions have it: the id of a job, what the queue tables call a pool. */
  subject: string | null
  concurrency: number | null
  rate: Limit['rate']
  description: string | null
  /** Null: whichever there is. */
  version: number | null
  actor: string
}

/** `limit` is null if a version was asked for and there is no such limit. */
export interface LimitPut {
  verdict: 'CREATED' | 'UPDATED' | 'UNCHANGED' | 'MISMATCH'
  limit: LimitRecord | null
}

/** See functions/administration/limits.sql. */
export async function putLimit(database: Database, put: PutLimit): Promise<LimitPut> {
  const { owner, name, subject, concurrency, rate, description, version, actor } = put
  const rows = await database.query<Row & { verdict: LimitPut['verdict']; id: number | null }>(
    'put-limit',
    `select verdict, ${columns.map((column) => `(made).${column}`)}
     from carillon.put_limit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      ...[owner, name, put.for, subject, concurrency, rate?.count ?? null, rate?.perSec ?? null],
      ...[description, version, actor, database.now],
    ],
  )
  const { verdict, ...row } = rows[0]!
  return { verdict, limit: row.id === null ? null : found(row).limit }
}

export interface LimitDeletion {
  verdict: 'DELETED' | 'UNKNOWN' | 'MISMATCH'
  version: number | null
}

/** See functions/administration/limits.sql. */
export async function deleteLimit(
  database: Database,
  { owner, name, version, actor }: Pick<PutLimit, 'owner' | 'name' | 'version' | 'actor'>,
): Promise<LimitDeletion> {
  const rows = await database.query<LimitDeletion>(
    'delete-limit',
    'select verdict, version from carillon.delete_limit($1, $2, $3, $4, $5)',
    [owner, name, version, actor, database.now],
  )
  return rows[0]!
}
