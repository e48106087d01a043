/** A key as the database holds it, without its hash. */
export interface ApiKeyRow {
  keyId: string
  name: string
  /** Null: a platform key. */
  tenant: string | null
  scopes: string[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
}

export interface KeyColumns {
  key_id: string
  name: string
  tenant: string | null
  scopes: string[]
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
}

export const keyColumns = 'key_id, name, tenant, scopes, created_at, expires_at, revoked_at'

export function keyRow(row: KeyColumns): ApiKeyRow {
  return {
    keyId: row.key_id,
    name: row.name,
    tenant: row.tenant,
    scopes: row.scopes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}
