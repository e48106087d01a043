import type { Database } from '../database.ts'

/** What the queue tables call the pools that a tenant may use, by name: its own before the installation's. Index: pools_name. */
export async function readPoolKeys(database: Database, tenant: string): Promise<Map<string, string>> {
  const rows = await database.query<{ name: string; pool: string }>(
    'read-pool-keys',
    `select name, pool from carillon.pools where tenant is null or tenant = $1 order by tenant nulls first, name`,
    [tenant],
  )
  return new Map(rows.map((row) => [row.name, row.pool]))
}
