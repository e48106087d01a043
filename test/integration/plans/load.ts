/**
 * An installation of a given size, made by plain SQL: `size` jobs at rest and `size` finished executions over thirty
 * daily partitions; then jobs that are due, and executions that are ready or come back. Those lie scattered over their
 * tables, as they do in life: a job is stored where it was created, not beside those that fire with it.
 *
 * The statistics are those of the moment before, when nothing was due and the queue was empty: what the planner knows
 * in a burst.
 */
import { Database } from '../../../packages/server/src/store/database.ts'
import { migrate } from '../../../packages/server/src/store/migrate.ts'
import { createPartition } from '../../../packages/server/src/store/partitions/manage.ts'
import { createDatabase } from '../../support/postgres.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const partitions = 30
export const shardCount = 64
/** The instant at which everything happens, in the last partition but one. The functions are told it. */
export const now = Date.UTC(2030, 0, 30, 12)
const firstDay = Math.floor(now / dayMs) * dayMs - (partitions - 2) * dayMs
/** What is due, is due from here on. */
export const dueFrom = now - 5_000
/** So many rows are due, ready, coming back: enough for all calls that are measured. */
const atHand = 4_000
/** Ready rows have tags from here on; what was below was leased long ago. */
export const firstTag = 1_000_000_000

/** What makes loading quick; nothing here changes a plan. Without autovacuum the statistics stay as they are. */
export const serverSettings = {
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '16GB',
  checkpoint_timeout: '1h',
  shared_buffers: '512MB',
  maintenance_work_mem: '256MB',
}

/** Answers the URL of the new database. */
export async function load(server: string, size: number): Promise<string> {
  const { url } = await createDatabase({ server })
  const database = new Database({
    url,
    maxConnections: 2,
    statementTimeoutMs: 120_000,
    applicationName: 'load',
  })
  const run = (sql: string, ...values: unknown[]) => database.query(null, sql, values)
  try {
    await migrate(database, { shardCount, partitionHours: 24, retentionDays: 365 })
    for (let day = 0; day < partitions; day++)
      await createPartition(database, firstDay + day * dayMs, firstDay + (day + 1) * dayMs)
    await run('update carillon.installation set floor_id = carillon.first_id($1)', firstDay)
    const jobs = size + atHand
    await withoutIndexes(
      database,
      ['jobs_tenant', 'jobs_by_id', 'schedules_due', 'executions_tenant', 'executions_job'],
      async () => {
        await run(loadJobs, jobs)
        await run(loadSchedules, jobs)
        await run(loadFinished, size)
      },
    )
    await run(
      'vacuum (analyze) carillon.jobs, carillon.schedules, carillon.executions, carillon.ready, carillon.leases',
    )
    await run(makeDue, jobs)
    await run(makeReady, jobs)
    await run(makeRetries, jobs)
    await run(makeSubmissions)
    return url
  } finally {
    await database.end()
  }
}

/** Inserting 1,000,000 rows in the order of the primary key is quick; the other indexes are quicker built afterwards. */
async function withoutIndexes(database: Database, names: string[], work: () => Promise<void>): Promise<void> {
  const rows = await database.query<{ name: string; definition: string }>(
    null,
    `select indexname name, indexdef definition from pg_indexes where schemaname = 'carillon' and indexname = any ($1)`,
    [names],
  )
  for (const { name } of rows) await database.query(null, `drop index carillon.${name}`)
  await work()
  for (const { definition } of rows) await database.query(null, definition.replace(' ON ONLY ', ' ON '))
}

/** An id of version 8 from an instant and a number, which ends it: its last bytes choose the shard. */
const id = (ms: string, n: string) =>
  `(lpad(to_hex((${ms})::bigint), 12, '0') || '800080000000' || lpad(to_hex((${n})::int), 8, '0'))::uuid`
const jobId = (n: string) => id(`${now - 365 * dayMs} + (${n})::bigint * 31`, n)
/** Numbers of 1 … `count`, in an order that has nothing to do with their own. */
const scattered = (n: string, count: string) => `((${n})::bigint * 7919 % (${count}) + 1)`

const loadJobs = `
  insert into carillon.jobs (job_id, version, tenant, name, type, cron, pool, lane, handler, payload)
  select ${jobId('i')}, 1, 'tenant-' || i % 1000, 'job ' || i, 'CRON', '0 * * * *', 'default', 2, 'send-email',
    '{"to": "somebody@example.org", "template": "' || i || '"}'
  from generate_series(1, $1::int) i`

/** Due within the next day: not soon, and in an order that has nothing to do with the job's age. */
const loadSchedules = `
  insert into carillon.schedules (job_id, shard, version, nominal, due, fires)
  select ${jobId('i')}, i % ${shardCount}, 1, at, at, 100
  from generate_series(1, $1::int) i
  cross join lateral (select carillon.at(${now} + 60000 + (i::bigint * 7919 * 104729) % 86340000) at) x`

const loadFinished = `
  insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin,
    scheduled_for, due_at, fired_at, state, attempt, started_at, finished_at, worker_id, fence, result)
  select ${id('ms', 'i')}, ${jobId(scattered('i', '$1::int'))}, 1, 'tenant-' || i % 1000,
    'default', 2, 'send-email', i, 'SCHEDULE', at, at, at, 'SUCCEEDED', 1,
    at, at, '00000000-0000-8000-8000-000000000001', i, '{"ok": true}'
  from generate_series(1, $1::int) i
  cross join lateral (select ${firstDay} + ${now - 1_000 - firstDay}::bigint * i / $1::int ms) x
  cross join lateral (select carillon.at(ms) at) y`

const makeDue = `
  update carillon.schedules s set nominal = carillon.at(d.ms), due = carillon.at(d.ms)
  from (select ${jobId(`i * ($1::int / ${atHand})`)} job_id, ${dueFrom} + i * 7919 % ${now - dueFrom + 1} ms
    from generate_series(1, ${atHand}) i) d
  where s.job_id = d.job_id`

/** Unfinished executions among the finished ones of today, tagged in another order than that of the ledger. */
const pending = (kind: number) => `
  insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin,
    scheduled_for, due_at, fired_at)
  select ${id('ms', `i * 2 + ${kind}`)}, ${jobId(scattered('i', '$1::int'))}, 1, 'tenant-' || i % 1000, 'default', 2,
    'send-email', ${firstTag} + ${scattered('i', String(atHand))} * 1000, 'SCHEDULE', at, at, at
  from generate_series(1, ${atHand}) i
  cross join lateral (select ${now - 12 * hourMs} + ${12 * hourMs - 10_000}::bigint * i / ${atHand} + 1 ms) x
  cross join lateral (select carillon.at(ms) at) y
  returning execution_id, job_id, tenant, pool, lane, handler, tag, scheduled_for, due_at`

const makeReady = `
  with born as (${pending(0)})
  insert into carillon.ready (pool, lane, tag, execution_id, body)
  select b.pool, b.lane, b.tag, b.execution_id, carillon.birth_text(b.execution_id, b.job_id, b.tenant, b.pool, b.handler,
    carillon.ms(b.scheduled_for), carillon.ms(b.due_at), null, null, '{"to": "x"}', null, null)
  from born b`

const makeRetries = `
  with born as (${pending(1)})
  insert into carillon.retries (execution_id, shard, due, tenant, pool, lane, state)
  select execution_id, tag % ${shardCount}, carillon.at(${dueFrom} + tag % ${now - dueFrom + 1}), tenant, pool, lane, 'FAILED'
  from born`

const makeSubmissions = `
  insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at, payload)
  select ${id('ms', 'i')}, i % ${shardCount}, 'tenant-' || i % 1000, 'default', 2, 'send-email', carillon.at(ms), '{"to": "x"}'
  from generate_series(1, ${atHand}) i
  cross join lateral (select ${dueFrom} + i * 7919 % ${now - dueFrom + 1} ms) x`
