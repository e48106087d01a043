import type { Scope } from '@carillon/contract'
import type { Database } from '../database.ts'
import { type ApiKeyRow, type KeyColumns, keyColumns, keyRow } from './row.ts'

export interface CreateKey {
  keyId: string
  hash: Buffer
  name: string
  /** Null: a platform key. */
  tenant: string | null
  scopes: readonly Scope[]
  expiresInSec: number | null
  actor: string
}

/** Stores a key and records it in the audit. No locks besides its own rows. */
export async function createKey(database: Database, key: CreateKey): Promise<ApiKeyRow> {
  const rows = await database.query<KeyColumns>(
    'create-api-key',
    `with created as (
       insert into carillon.api_keys (key_id, hash, name, tenant, scopes, expires_at)
       values ($1, $2, $3, $4, $5, coalesce($8, clock_timestamp()) + make_interval(secs => $6))
       returning *),
     noted as (
       insert into carillon.audit (tenant, actor, action, subject, detail)
       select tenant, $7, 'api_key.created', key_id,
         jsonb_build_object('name', name, 'scopes', scopes, 'expiresAt', expires_at)
       from created)
     select ${keyColumns} from created`,
    [key.keyId, key.hash, key.name, key.tenant, key.scopes, key.expiresInSec, key.actor, database.now],
  )
  return keyRow(rows[0]!)
}
