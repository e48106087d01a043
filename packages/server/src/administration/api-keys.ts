/** API keys for the operator, who has the database. The first key of an installation can come from nowhere else. */
import { CarillonError, limits, type Scope, scopes } from '@carillon/contract'
import { newApiKey, parseApiKey } from '../domain/api-key.ts'
import { Problems } from '../jobs/validate.ts'
import { createKey } from '../store/api-keys/create.ts'
import { listKeys } from '../store/api-keys/read.ts'
import { revokeKey } from '../store/api-keys/revoke.ts'
import type { ApiKeyRow } from '../store/api-keys/row.ts'
import { Database } from '../store/database.ts'
import { codeOf } from '../store/trouble.ts'

export type ApiKey = ApiKeyRow

export interface ApiKeyInput {
  /** What it is for, for people. */
  name: string
  /** Null: a platform key, which may act for every tenant. */
  tenant: string | null
  scopes: readonly Scope[]
  /** Left out: until it is revoked. */
  expiresInSec?: number
}

const longestSec = 100 * 366 * 86_400
const actor = 'operator'

/**
 * Creates a key. `key` is returned only here: the database holds only the hash of its secret.
 *
 * @example
 * ```ts
 * import { createApiKey } from '@carillon/server/administration'
 *
 * const { key } = await createApiKey('postgres://carillon@localhost/carillon', {
 *   name: 'deploys of billing',
 *   tenant: 'billing',
 *   scopes: ['jobs:read', 'jobs:write'],
 *   expiresInSec: 90 * 86_400,
 * })
 * ```
 */
export async function createApiKey(where: string | Database, input: ApiKeyInput): Promise<ApiKey & { key: string }> {
  check(input)
  const { keyId, text, hash } = newApiKey()
  const { name, tenant, expiresInSec = null } = input
  const row = { keyId, hash, name, tenant, scopes: [...new Set(input.scopes)], expiresInSec, actor }
  return { ...(await on(where, (database) => createKey(database, row))), key: text }
}

/** Every key of the installation, newest first, also those that are revoked or have expired. */
export function listApiKeys(where: string | Database): Promise<ApiKey[]> {
  return on(where, listKeys)
}

/** Takes the id of a key or the whole key. Nodes notice within 10 s. Null: there is no such key. */
export function revokeApiKey(where: string | Database, key: string): Promise<ApiKey | null> {
  return on(where, (database) => revokeKey(database, { keyId: parseApiKey(key)?.keyId ?? key, actor }))
}

function check({ name, tenant, scopes: asked, expiresInSec }: ApiKeyInput): void {
  const problems = new Problems()
  problems.text('/name', name, limits.nameLength)
  if (tenant !== null) problems.text('/tenant', tenant, limits.nameLength)
  if (tenant === '*') problems.add('/tenant', '* is no tenant', 'Give null for a platform key')
  if (!Array.isArray(asked) || asked.length === 0) {
    problems.add('/scopes', 'must be a list that is not empty', `Use some of ${scopes.join(', ')}`)
  } else {
    asked.forEach((scope, i) => {
      problems.oneOf(`/scopes/${i}`, scope, scopes)
    })
  }
  problems.number('/expiresInSec', expiresInSec, { min: 1, max: longestSec })
  problems.throwIfAny()
}

async function on<T>(where: string | Database, work: (database: Database) => Promise<T>): Promise<T> {
  const own = typeof where === 'string' ? openDatabase(where) : null
  try {
    return await work(own ?? (where as Database))
  } catch (error) {
    if (codeOf(error) !== '42P01' && codeOf(error) !== '3F000') throw error
    throw new CarillonError(
      'CONFIG_INVALID',
      { pointer: '/databaseUrl', message: 'the database holds no Carillon yet', hint: 'Start a node on it first' },
      { cause: error },
    )
  } finally {
    await own?.end()
  }
}

function openDatabase(url: string): Database {
  return new Database({ url, maxConnections: 1, statementTimeoutMs: 10_000, applicationName: 'carillon keys' })
}
