/** What is left in the queues that should not be: due for a while, and neither processed nor set aside. */
import type pg from 'pg'

const late = `clock_timestamp() - $1 * interval '1 millisecond'`

/** By table. Work in a pool that nobody serves waits rightly. */
const leftSql = `
  select 'schedules' "table", count(*)::int n from carillon.schedules where due < ${late}
  union all select 'retries', count(*)::int from carillon.retries where due < ${late}
  union all select 'submissions', count(*)::int from carillon.submissions where run_at < ${late}
  union all select 'deadlines', count(*)::int from carillon.deadlines where due < ${late}
  union all select 'running', count(*)::int from carillon.running r where r.overdue_at < ${late}
    or r.leased_at < ${late} and r.worker_id not in (select worker_id from carillon.workers)
  union all select 'waiting', count(*)::int from carillon.waiting w
    where not exists (select from carillon.executions e where e.execution_id = w.execution_id)
  union all select 'ready', count(*)::int from carillon.ready r where r.pool = 'default'
    and not exists (select from carillon.executions e where e.execution_id = r.execution_id)
  union all select 'operations', count(*)::int from carillon.operations where state = 'RUNNING' and next_at < ${late}`

export async function leftOver(client: pg.Client, lateMs: number): Promise<Record<string, number>> {
  const { rows } = await client.query<{ table: string; n: number }>(leftSql, [lateMs])
  return Object.fromEntries(rows.filter(({ n }) => n > 0).map(({ table, n }) => [table, n]))
}
