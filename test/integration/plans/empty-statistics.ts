/**
 * Queues as the planner sees them after a vacuum that met them empty: it takes them for empty until the next one, however many
 * rows there are. Partitions of the ledger as a plan sees them that was made in their first moment, before anybody
 * analyzed them: ten pages of rows. Whoever runs much has many held.
 */
import pg from 'pg'

const held = 20_000
const fewRows = 100
const queues = ['ready', 'leases', 'lease_notes', 'retries', 'submissions', 'waiting', 'deadlines']

export async function takeForEmpty(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
     select 1000000000 + i, gen_random_uuid(), 'default', 2, i, i, now(), now() + interval '1 hour', 10, true, 1, array[gen_random_uuid()]
     from generate_series(1, ${held}) i`,
  )
  const { rowCount } = await client.query(
    `update pg_class set reltuples = 0, relpages = 100 where relnamespace = 'carillon'::regnamespace and relname = any ($1)`,
    [queues],
  )
  const partitions = `select inhrelid from pg_inherits where inhparent = 'carillon.executions'::regclass`
  await client.query(
    `update pg_class set reltuples = ${fewRows}, relpages = pg_relation_size(oid) / 8192 where oid in (${partitions})`,
  )
  await client.query(`delete from pg_statistic where starelid in (${partitions})`)
  await client.end()
  if (rowCount !== queues.length) throw new Error(`of ${queues.length} queues there are ${rowCount}`)
}
