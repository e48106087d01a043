import type { Database } from '../database.ts'

export async function readPoolNames(database: Database): Promise<string[]> {
  const rows = await database.query<{ pool: string }>('read-pools', 'select pool from carillon.pools order by pool')
  return rows.map((row) => row.pool)
}
