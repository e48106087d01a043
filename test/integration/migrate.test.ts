/** One schema, however many nodes bring it up at once, and whichever version they are of. */
import { readdirSync, readFileSync } from 'node:fs'
import { CarillonError } from '@carillon/contract'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { Database } from '../../packages/server/src/store/database.ts'
import { functionFolders, migrate, schemaSql } from '../../packages/server/src/store/migrate.ts'
import { quickTimes } from '../support/carillon.ts'
import { openNodes } from '../support/nodes.ts'
import { createDatabase, isPackaged, startPackagedPostgres, type TestDatabase } from '../support/postgres.ts'

const settings = { shardCount: 8, partitionHours: 24, retentionDays: 30 }
/** Eight ids, numbered. */
const ids = `(select n, ('00000000-0000-8000-8000-00000000000' || n)::uuid i from generate_series(1, 8) n) ids`
const disposals: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose()
})

describe('migrate', () => {
  it('brings up one schema when ten nodes come at once, and changes nothing when they come again', async () => {
    const { url } = await emptyDatabase()
    const nodes = Array.from({ length: 10 }, () => open(url))
    await Promise.all(nodes.map((node, i) => migrate(node, { ...settings, shardCount: 8 + i })))
    const first = await fingerprint(url)
    expect(first.migrations).toBeGreaterThan(0)
    expect(first.shards).toBe(first.installation.shard_count)
    expect(first.pools).toBe(1)
    await Promise.all(nodes.map((node) => migrate(node, settings)))
    expect(await fingerprint(url)).toEqual(first)
  })

  it('holds when the nodes are processes, which then all work', async () => {
    const { url } = await emptyDatabase()
    const nodes = await openNodes(url)
    disposals.push(() => nodes[Symbol.asyncDispose]())
    await Promise.all(['a', 'b', 'c'].map((name) => nodes.launch(name, quickTimes)))
    const { installation, shards } = await fingerprint(url)
    expect([installation.shard_count, shards]).toEqual([64, 64])
  })

  it('keeps the settings of the first node', async () => {
    const { url } = await emptyDatabase()
    await migrate(open(url), settings)
    await migrate(open(url), { shardCount: 99, partitionHours: 1, retentionDays: 1 })
    const { installation, shards } = await fingerprint(url)
    expect(installation).toMatchObject({ shard_count: 8, partition_hours: 24, retention_days: 30 })
    expect(shards).toBe(8)
  })

  it('refuses a database with a newer migration that breaks with this version, and leaves it as it is', async () => {
    const { url } = await emptyDatabase()
    await migrate(open(url), settings)
    await query(url, `insert into carillon.migrations (version, name, breaking) values (9000, 'future', true)`)
    await query(url, `update carillon.function_texts set digest = 'of a newer version'`)
    const before = await fingerprint(url)
    const error = await migrate(open(url), settings).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(CarillonError)
    expect(error).toMatchObject({ code: 'SCHEMA_TOO_NEW', message: expect.stringMatching(/9000 \(future\).*Upgrade/) })
    expect(await fingerprint(url)).toEqual(before)
  })

  it('works beside a newer version whose migration does not break, and leaves its functions alone', async () => {
    const { url } = await emptyDatabase()
    await migrate(open(url), settings)
    await query(url, `insert into carillon.migrations (version, name, breaking) values (9000, 'future', false)`)
    await query(url, `update carillon.function_texts set digest = 'of a newer version'`)
    await query(url, `create or replace function carillon.ms(at timestamptz) returns bigint language sql return 42`)
    await migrate(open(url), settings)
    expect((await query(url, 'select carillon.ms(now()) ms')).rows[0].ms).toBe('42')
    expect((await fingerprint(url)).digest).toBe('of a newer version')
  })

  it('applies every folder of functions', () => {
    const folder = new URL('../../packages/server/src/store/functions/', import.meta.url)
    expect(readdirSync(folder).sort()).toEqual([...functionFolders].sort())
  })

  it('lays the functions down again when their text differs', async () => {
    const { url } = await emptyDatabase()
    await migrate(open(url), settings)
    await query(url, `update carillon.function_texts set digest = 'of an older version'`)
    await query(url, `create or replace function carillon.ms(at timestamptz) returns bigint language sql return 42`)
    await migrate(open(url), settings)
    expect((await query(url, `select carillon.ms(carillon.at(7)) ms`)).rows[0].ms).toBe('7')
  })

  it('takes over what runs under the version before leases, with its fences, notes and completions', async () => {
    const { url } = await emptyDatabase()
    const folder = new URL('../../packages/server/src/store/migrations/', import.meta.url)
    const earlier = readdirSync(folder)
      .sort()
      .filter((name) => name < '0014')
    await query(url, 'create schema carillon')
    for (const name of earlier) await query(url, readFileSync(new URL(name, folder), 'utf8'))
    await query(
      url,
      `create table carillon.migrations (version int primary key, name text not null, breaking boolean not null,
         applied_at timestamptz not null default clock_timestamp());
       create table carillon.function_texts (singleton boolean primary key default true check (singleton), digest text not null);
       insert into carillon.migrations select n, 'earlier', false from generate_series(1, ${earlier.length}) n;
       create table carillon.some_executions partition of carillon.executions default;
       insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin, scheduled_for, due_at, fired_at)
         select i, i, 'acme', 'pool-' || n % 3, n % 4, 'h', n, 'SUBMIT', now(), now(), now() from ${ids};
       insert into carillon.running (execution_id, fence, worker_id, attempt, leased_at, overdue_at, grace_sec, began, heartbeat_timeout_sec, progress,
           cancel_at, cancel_reason, completed, result)
         select i, 1020 + n, i, 1, now(), now() + interval '1 hour', 10, n > 3, case n when 5 then 3 end, case n when 1 then '7' end,
           case n when 2 then now() end, case n when 2 then 'X' end, n = 3, case n when 3 then '8' end from ${ids};
       update carillon.executions set log = E'one\\n\\ntwo\\n' where tag = 1;
       select setval('carillon.fences', 5000)`,
    )
    const seen = `select execution_id, fence, worker_id, attempt, leased_at, overdue_at, began, progress, cancel_at, cancel_reason,
      completed, result from carillon.running order by fence`
    const before = (await query(url, seen)).rows
    await migrate(open(url), settings)
    expect((await query(url, seen)).rows).toEqual(before)
    // Each is found by its ledger row, and has no heartbeat timeout of another.
    const held = `select h.fence, h.heartbeat_timeout_sec from carillon.executions e cross join lateral carillon.held(e) h order by 1`
    expect((await query(url, held)).rows).toEqual(
      before.map(({ fence }: { fence: string }) => ({ fence, heartbeat_timeout_sec: null })),
    )
    const leases = 'select lease_id, open, cardinality(ids) length from carillon.leases order by 1'
    expect((await query(url, leases)).rows).toEqual([
      { lease_id: '0', open: 3, length: 1_024 },
      { lease_id: '1', open: 5, length: 5 },
    ])
    expect(
      (await query(url, 'select position, attempt, lines, cardinality(times) n from carillon.log_lines')).rows,
    ).toEqual([{ position: 3, attempt: 1, lines: ['one', '', 'two'], n: 3 }])
    expect((await query(url, `select nextval('carillon.lease_ids') << 10 next`)).rows).toEqual([{ next: '6144' }])
  })

  it('can be printed and applied by hand: nodes find it as they would have left it', async () => {
    const byHand = await emptyDatabase()
    await query(byHand.url, 'create schema carillon')
    await query(byHand.url, schemaSql())
    await migrate(open(byHand.url), settings)
    const byNode = await emptyDatabase()
    await migrate(open(byNode.url), settings)
    const { installation: one, ...printed } = await fingerprint(byHand.url)
    const { installation: other, ...migrated } = await fingerprint(byNode.url)
    expect(printed).toEqual(migrated)
    expect(one.floor_id).toBe(other.floor_id)
  })

  it('needs no right to create anything once the schema is there', async () => {
    const { url, name } = await emptyDatabase()
    await migrate(open(url), settings)
    const role = `node_of_${name}`
    await query(
      url,
      `create role ${role} login password 'x'; grant usage on schema carillon to ${role};
      grant select, insert, update, delete on all tables in schema carillon to ${role}`,
    )
    disposals.splice(0, 0, () => query(new URL('/postgres', url).href, `drop role ${role}`))
    const asNode = new URL(url)
    asNode.username = role
    asNode.password = 'x'
    await migrate(open(asNode.href), settings)
  })

  it('says what it needs when the server is too old', async () => {
    const old = {
      connect: async () => ({
        on() {},
        release() {},
        query: async (text: string) => ({
          rows: text.includes('server_version') ? [{ number: 140_012, name: '14.12 (Debian)' }] : [],
        }),
      }),
    } as unknown as Database
    await expect(migrate(old, settings)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/PostgreSQL 14\.12 .*is too old.*15 or later/),
    })
  })

  it.skipIf(!isPackaged(15))('works on PostgreSQL 15', async () => {
    const server = await startPackagedPostgres(15)
    disposals.push(() => server.stop())
    const nodes = Array.from({ length: 3 }, () => open(server.url))
    await Promise.all(nodes.map((node) => migrate(node, settings)))
    const first = await fingerprint(server.url)
    await Promise.all(nodes.map((node) => migrate(node, settings)))
    expect(await fingerprint(server.url)).toEqual(first)
    const { url } = await createDatabase({ server: server.url })
    await query(url, schemaSql())
  })
})

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await createDatabase()
  disposals.push(() => database.drop())
  return database
}

function open(url: string): Database {
  const database = new Database({ url, maxConnections: 1, statementTimeoutMs: 1_800, applicationName: 'test' })
  disposals.push(() => database.end())
  return database
}

async function query(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

/** What a schema is: everything in it, with the row versions of what must not be written twice. */
async function fingerprint(url: string) {
  const { rows } = await query(
    url,
    `select
       (select count(*)::int from carillon.migrations) migrations, (select count(*)::int from carillon.shards) shards,
       (select count(*)::int from carillon.pools) pools, (select digest from carillon.function_texts) digest,
       (select to_jsonb(i) || jsonb_build_object('xmin', i.xmin::text) from carillon.installation i) installation,
       (select jsonb_agg(c.relname || ':' || c.relkind::text order by c.relname) from pg_class c
         where c.relnamespace = 'carillon'::regnamespace) relations,
       (select md5(string_agg(pg_get_functiondef(p.oid), '' order by p.proname, p.oid::regprocedure::text)) from pg_proc p
         where p.pronamespace = 'carillon'::regnamespace) functions,
       (select jsonb_agg(conrelid::regclass::text || ':' || pg_get_constraintdef(oid) order by conrelid::regclass::text, conname)
         from pg_constraint where connamespace = 'carillon'::regnamespace) constraints`,
  )
  return rows[0] as { installation: Record<string, unknown> } & Record<string, unknown>
}
