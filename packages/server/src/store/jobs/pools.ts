import type { Database } from '../database.ts'

/** Every pool with its owner; null: the installation's. */
export async function readPoolOwners(database: Database): Promise<Map<string, string | null>> {
  const rows = await database.query<{ pool: string; tenant: string | null }>(
    'read-pool-owners',
    'select pool, tenant from carillon.pools order by pool',
  )
  return new Map(rows.map((row) => [row.pool, row.tenant]))
}
