/**
 * What an installation has behind it: finished executions of the last 30 days, a partition a day, in the form REPORT
 * leaves them. Half were submissions, half occurrences of jobs that have come to their end. They lie in the order of
 * their time, tenants and handlers mixed, as they came.
 */
import type pg from 'pg'
import { Database } from '../../packages/server/src/store/database.ts'
import { createPartition } from '../../packages/server/src/store/partitions/manage.ts'
import { handlerNames } from '../work.ts'

const dayMs = 86_400_000
const days = 30
/** As far ahead as a node makes them. */
const daysAhead = 3

const jobsSql = `
insert into carillon.jobs (job_id, version, tenant, name, type, cron, pool, lane, handler, payload, state)
select carillon.first_id($1::bigint + h.n), 1, h.tenant, 'nightly ' || h.handler, 'CRON', '0 3 * * *', 'default', 2, h.handler,
  '{"to":"user-1@example.com","template":"welcome"}', 'COMPLETED'
from (select row_number() over (order by t.ordinality, h.ordinality) n, t.tenant, h.handler
  from unnest($2::text[]) with ordinality t(tenant, ordinality)
  cross join unnest($3::text[]) with ordinality h(handler, ordinality)) h`

const schedulesSql = `
insert into carillon.schedules (job_id, shard, version, nominal, due, fires)
select j.job_id, carillon.shard_of(j.job_id, i.shard_count), 1, null, null, 30
from carillon.jobs j cross join carillon.installation i`

/** $1 and $2: when the first and the last one was due, ms. $3: how many. $4: tenants. $5: handlers. $6: a worker. */
const executionsSql = `
with jobs as (
  select row_number() over (order by job_id) - 1 n, job_id, tenant, handler from carillon.jobs
), times as (
  select n, $1::bigint + (n::float8 / $3::int * ($2::bigint - $1::bigint))::bigint ms,
    replace(gen_random_uuid()::text, '-', '') random
  from generate_series(0, $3::int - 1) n
), born as (
  select n, n / 2 turn, ms, carillon.at(ms) due,
    case when n % 2 = 1 then (n / 2 * 7919::bigint) % (cardinality($4::text[]) * cardinality($5::text[])) end job,
    (lpad(to_hex(ms), 12, '0') || '8' || right(random, 19))::uuid id from times
)
insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin,
  scheduled_for, due_at, fired_at, payload, state, attempt, started_at, finished_at, worker_id, fence)
select b.id, coalesce(j.job_id, b.id), case when j.job_id is not null then 1 end,
  coalesce(j.tenant, ($4::text[])[b.turn % cardinality($4::text[]) + 1]), 'default', 2,
  coalesce(j.handler, ($5::text[])[b.turn / 7 % cardinality($5::text[]) + 1]),
  (b.n / cardinality($4::text[]) + 1) * 65536::bigint, case when j.job_id is null then 'SUBMIT' else 'SCHEDULE' end,
  b.due, b.due, b.due + interval '1 ms',
  case when j.job_id is null then '{"to":"user-' || b.n % 100000 || '@example.com","template":"welcome"}' end,
  'SUCCEEDED', 1, b.due + interval '5 ms', b.due + interval '9 ms', $6::uuid, b.n + 1
from born b left join jobs j on j.n = b.job
order by b.n`

export async function layHistory(
  client: pg.Client,
  { url, rows, tenants }: { url: string; rows: number; tenants: string[] },
): Promise<void> {
  const { rows: clock } = await client.query<{ now: string }>('select carillon.ms(clock_timestamp()) now')
  const now = Number(clock[0]!.now)
  const from = Math.floor(now / dayMs) * dayMs - (days - 1) * dayMs
  await makePartitions(url, from, now)
  await client.query('update carillon.installation set floor_id = carillon.first_id($1::bigint)', [from])
  await client.query(jobsSql, [from, tenants, handlerNames])
  await client.query(schedulesSql)
  const worker = '00000000-0000-8000-8000-000000000001'
  await client.query(executionsSql, [from, now - 60_000, rows, tenants, handlerNames, worker])
  await client.query(`select setval('carillon.lease_ids', ($1::bigint >> 10) + 1)`, [rows])
  const reached = (Math.floor(rows / tenants.length) + 1) * 65_536
  await client.query(`insert into carillon.lanes (pool, lane, virtual_time) values ('default', 2, $1)`, [reached])
  await client.query('vacuum analyze carillon.executions, carillon.jobs, carillon.schedules')
  await client.query('checkpoint')
}

async function makePartitions(url: string, from: number, now: number): Promise<void> {
  const database = new Database({ url, maxConnections: 1, statementTimeoutMs: 60_000, applicationName: 'bench' })
  try {
    for (let at = from; at < now + daysAhead * dayMs; at += dayMs) await createPartition(database, at, at + dayMs)
  } finally {
    await database.end()
  }
}
