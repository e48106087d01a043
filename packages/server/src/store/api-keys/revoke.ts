import type { Database } from '../database.ts'
import { type ApiKeyRow, type KeyColumns, keyColumns, keyRow } from './row.ts'

export interface RevokeKey {
  keyId: string
  actor: string
  /** Whose keys the caller may revoke; left out: everybody's. */
  within?: { tenant: string; platform: boolean }
}

/** Revokes a key and notes it in the audit; one that is revoked stays so since the first time. Null: no such key. */
export async function revokeKey(database: Database, { keyId, actor, within }: RevokeKey): Promise<ApiKeyRow | null> {
  const rows = await database.query<KeyColumns>(
    'revoke-api-key',
    `with revoked as (
       update carillon.api_keys set revoked_at = coalesce(revoked_at, $3, clock_timestamp())
       where key_id = $1 and ($4::text is null or tenant = $4 or $5 and tenant is null) returning *),
     noted as (
       insert into carillon.audit (tenant, actor, action, subject, detail)
       select tenant, $2, 'api_key.revoked', key_id, jsonb_build_object('name', name) from revoked)
     select ${keyColumns} from revoked`,
    [keyId, actor, database.now, within?.tenant ?? null, within?.platform ?? null],
  )
  return rows[0] ? keyRow(rows[0]) : null
}
