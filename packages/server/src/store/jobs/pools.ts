import type { Database } from '../database.ts'

export async function readPoolNames(database: Database): Promise<string[]> {
  const rows = await database.query<{ pool: string }>('read-pools', 'select pool from carillon.pools order by pool')
  return rows.map((row) => row.pool)
}

export async function createPool(database: Database, pool: string): Promise<void> {
  await database.query(null, 'insert into carillon.pools (pool) values ($1) on conflict (pool) do nothing', [pool])
}

export async function pausePool(database: Database, pool: string, paused: boolean): Promise<void> {
  await database.query(null, 'update carillon.pools set paused = $2 where pool = $1', [pool, paused])
}
