import type { Database } from '../database.ts'

const most = 100_000

/** How many executions stand where, each counted up to 100,000. Reads the primary keys of three short tables. */
export async function countExecutions(
  database: Database,
): Promise<{ ready: number; running: number; retrying: number }> {
  const rows = await database.query<{ ready: number; running: number; retrying: number }>(
    'count-executions',
    `select (select count(*) from (select from carillon.ready limit $1) r) ready,
       (select count(*) from (select from carillon.running limit $1) r) running,
       (select count(*) from (select from carillon.retries limit $1) r) retrying`,
    [most],
  )
  return rows[0]!
}
