import type { Database } from '../database.ts'

const most = 100_000

/** How many executions are in each queue table, counted up to 100,000. Reads the primary keys of three short tables. */
export async function countExecutions(
  database: Database,
): Promise<{ ready: number; running: number; retrying: number }> {
  const rows = await database.query<{ ready: number; running: number; retrying: number }>(
    'count-executions',
    `select (select count(*) from (select from carillon.ready limit $1) r) ready,
       (select coalesce(sum(l.open), 0)::int from (select open from carillon.leases limit $1) l) running,
       (select count(*) from (select from carillon.retries limit $1) r) retrying`,
    [most],
  )
  return rows[0]!
}
