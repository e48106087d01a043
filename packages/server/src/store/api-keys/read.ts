import type { Database } from '../database.ts'
import { type ApiKeyRow, type KeyColumns, keyColumns, keyRow } from './row.ts'

export interface KeyToCheck extends ApiKeyRow {
  hash: Buffer
}

/** Keys by id, with their hashes; by the primary key. Those that do not exist are left out. */
export async function readKeys(database: Database, keyIds: string[]): Promise<Map<string, KeyToCheck>> {
  const rows = await database.query<KeyColumns & { hash: Buffer }>(
    'read-api-keys',
    `select ${keyColumns}, hash from carillon.api_keys where key_id = any ($1::text[])`,
    [keyIds],
  )
  return new Map(rows.map((row) => [row.key_id, { ...keyRow(row), hash: row.hash }]))
}

/** Every key, newest first. Keys are few: the whole table is read. */
export async function listKeys(database: Database): Promise<ApiKeyRow[]> {
  const rows = await database.query<KeyColumns>(
    'list-api-keys',
    `select ${keyColumns} from carillon.api_keys order by created_at desc, key_id`,
  )
  return rows.map(keyRow)
}
