/**
 * Jobs at rest by the million, written in SQL in the form the API leaves them: half of them run once, half on a yearly
 * cron, each at a random minute from an hour to a year ahead; a hundred tenants; stored in the order of their creation,
 * which has nothing to do with the order in which they are due. Ids, shards, anchors and next occurrences are what the
 * server would have computed, so that it can fire every one of them.
 *
 * Among them are beats, jobs of an interval of one second. They stand as far from each other as the table is long: the
 * n-th is created after the n-th share of all others. Nobody updates a row of `jobs` afterwards: it would move to the
 * table's end, beside the others.
 */
import pg from 'pg'
import type { Installation } from '../ground/ground.ts'
import { handlerNames } from '../work.ts'

export interface JobsAtRest {
  /** All of them, beats included. */
  jobs: number
  beats: number
  tenants: readonly string[]
}

const dayMs = 86_400_000
/** Created over so long a time. */
const ageMs = 90 * dayMs
const soonestMs = 3_600_000
const latestMs = 365 * dayMs
const connections = 2

/** Lays them down while no node runs. Indexes are built afterwards: one by one in order they would take several times as long. */
export async function layJobs(databaseUrl: string, wanted: JobsAtRest, log: (text: string) => void): Promise<void> {
  await using sql = await connect(databaseUrl)
  const { rows } = await sql.query('select carillon.ms(clock_timestamp())::float8 now from carillon.installation')
  const now: number = rows[0].now
  const restore = await dropIndexes(sql)
  for (const [table, insert] of [
    ['jobs', insertJobs],
    ['schedules', insertSchedules],
  ] as const) {
    await inParts(databaseUrl, wanted.jobs, async (part, from, to) => {
      await part.query(insert(wanted, now), [from, to])
    })
    log(`${wanted.jobs} rows in ${table}`)
  }
  for (const statement of restore) {
    await sql.query(statement)
    log(statement.replace(/ (ON|PRIMARY) .*/i, ''))
  }
  await sql.query('vacuum (analyze) carillon.jobs, carillon.schedules')
  await sql.query('checkpoint')
}

/** The ids of the beats, by a look at every job. */
export async function findBeats(installation: Installation): Promise<string[]> {
  const rows = await installation.query<{ id: string }>(`select job_id id from carillon.jobs where type = 'INTERVAL'`)
  return rows.map(({ id }) => id)
}

/**
 * Sets the beats going, as a fire would: the first occurrence of each is the one in the second that begins at `from`. Nodes
 * that run already must not have read that far ahead: they look 5 s ahead, and nobody gives them a hint.
 */
export async function startBeats(installation: Installation, jobIds: string[], from: number): Promise<void> {
  await installation.query(
    `update carillon.schedules s set nominal = x.at, due = x.at
     from carillon.jobs j cross join lateral (select carillon.at($1 + carillon.ms(j.anchor) % 1000) at) x
     where j.job_id = any ($2::uuid[]) and s.job_id = j.job_id`,
    [from, jobIds],
  )
}

/** Bytes of `jobs` and `schedules` with their indexes. */
export async function sizeAtRest(installation: Installation): Promise<number> {
  const [row] = await installation.query<{ bytes: number }>(
    `select (pg_total_relation_size('carillon.jobs') + pg_total_relation_size('carillon.schedules'))::float8 bytes`,
  )
  return row!.bytes
}

async function connect(databaseUrl: string): Promise<pg.Client & AsyncDisposable> {
  const sql = new pg.Client({ connectionString: databaseUrl, application_name: 'jobs at rest' })
  await sql.connect()
  await sql.query(`set maintenance_work_mem = '512MB'`)
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end() })
}

async function inParts(
  databaseUrl: string,
  count: number,
  work: (sql: pg.Client, from: number, to: number) => Promise<void>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, async (_, part) => {
      await using sql = await connect(databaseUrl)
      const at = (n: number) => Math.round((count * n) / connections)
      await work(sql, at(part) + 1, at(part + 1))
    }),
  )
}

/** Answers the statements that bring them back. The one for keys stays: none of these jobs has one. */
async function dropIndexes(sql: pg.Client): Promise<string[]> {
  const { rows: keys } = await sql.query<{ name: string; relation: string; definition: string }>(
    `select conname name, conrelid::regclass::text relation, pg_get_constraintdef(oid) definition from pg_constraint
     where contype = 'p' and conrelid in ('carillon.jobs'::regclass, 'carillon.schedules'::regclass)`,
  )
  const { rows: indexes } = await sql.query<{ name: string; definition: string }>(
    `select indexname name, indexdef definition from pg_indexes
     where schemaname = 'carillon' and indexname in ('jobs_tenant', 'jobs_by_id', 'schedules_due')`,
  )
  for (const { name, relation } of keys) await sql.query(`alter table ${relation} drop constraint ${name}`)
  for (const { name } of indexes) await sql.query(`drop index carillon.${name}`)
  return [
    ...keys.map(({ name, relation, definition }) => `alter table ${relation} add constraint ${name} ${definition}`),
    ...indexes.map(({ definition }) => definition),
  ]
}

/**
 * One row for each number from $1 to $2, the same for both tables: whatever is random comes from a hash of the number. `r`:
 * 32 hexadecimal digits, of which the first eight are spent on times and the rest on the id. OFFSET 0, so that what is
 * computed is not computed again at each place that names it.
 */
const numbered = ({ jobs, beats }: JobsAtRest, now: number) => `(
  select i, r, type, created, random_ms, case when type = 'CRON' then random_at - random_ms % 60000 * interval '1 ms' else random_at end at,
    (lpad(to_hex(case when type = 'ONE_SHOT' then random_ms else created end), 12, '0')
      || '8' || substr(r, 9, 3) || '8' || substr(r, 12, 15))::uuid job_id
  from (
    select *, carillon.at(random_ms) random_at from (
      select i, r, type, ${now - ageMs} + ${ageMs}::bigint * i / ${jobs} / 1000 * 1000 + chance % 1000 created,
        ${now + soonestMs} + floor(${latestMs - soonestMs} * (chance / 4294967296.0::float8))::bigint random_ms
      from (
        select i, r, ('x' || substr(r, 1, 8))::bit(32)::bigint chance, case
            when (i::bigint * ${beats}) / ${jobs} > ((i - 1)::bigint * ${beats}) / ${jobs} then 'INTERVAL'
            when i % 2 = 0 then 'ONE_SHOT' else 'CRON' end type
        from (select i, md5('at rest ' || i) r from generate_series($1::int, $2::int) i offset 0) a offset 0) b offset 0) c offset 0) d
  offset 0)`

const insertJobs = (wanted: JobsAtRest, now: number) => `
  insert into carillon.jobs (job_id, version, tenant, name, type, run_at, cron, "interval", anchor, pool, lane, handler,
    payload, created_at, updated_at)
  select job_id, 1, (${texts(wanted.tenants)})[i % ${wanted.tenants.length} + 1], 'job ' || i, type,
    case when type = 'ONE_SHOT' then at end,
    case when type = 'CRON' then to_char(at at time zone 'UTC', 'FMMI FMHH24 FMDD FMMM') || ' *' end,
    case when type = 'INTERVAL' then 'PT1S' end, case when type = 'INTERVAL' then carillon.at(created) end,
    'default', 2, (${texts(handlerNames)})[i % ${handlerNames.length} + 1],
    '{"to":"user-' || i % 100000 || '@example.com","template":"welcome"}', carillon.at(created), carillon.at(created)
  from ${numbered(wanted, now)} e`

const insertSchedules = (wanted: JobsAtRest, now: number) => `
  insert into carillon.schedules (job_id, shard, version, nominal, due)
  select job_id, carillon.shard_of(job_id, n.shard_count), 1, at, at
  from ${numbered(wanted, now)} e cross join carillon.installation n`

const texts = (values: readonly string[]) => `array[${values.map((value) => pg.escapeLiteral(value)).join(',')}]`
