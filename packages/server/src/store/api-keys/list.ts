import type { Database } from '../database.ts'
import { type ApiKeyRow, type KeyColumns, keyColumns, keyRow } from './row.ts'

export interface KeyListRequest {
  /** Null: platform keys. */
  tenant: string | null
  /** The last of the page before; null: from the newest on. */
  after: string | null
  limit: number
}

/** A tenant's keys, newest first, also those that are revoked or have expired. Index: api_keys_tenant. */
export async function listTenantKeys(
  database: Database,
  { tenant, after, limit }: KeyListRequest,
): Promise<ApiKeyRow[]> {
  const rows = await database.query<KeyColumns>(
    'list-tenant-api-keys',
    `select ${keyColumns} from carillon.api_keys
     where tenant is not distinct from $1 and ($2::text is null or (created_at, key_id) < (
       select a.created_at, a.key_id from carillon.api_keys a where a.key_id = $2 and a.tenant is not distinct from $1))
     order by created_at desc, key_id desc limit $3`,
    [tenant, after, limit],
  )
  return rows.map(keyRow)
}
