/**
 * A database for every test, copied from a template that holds the schema. The template is named by what is in it: another
 * version of Carillon makes its own.
 */
import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { assert } from '../lib/assert.ts'
import { monotonicMs } from '../lib/clock.ts'
import { PostgresClient } from '../lib/postgres-client.ts'
import { Database } from '../store/database.ts'
import { migrate, schemaSql } from '../store/migrate.ts'
import { createPartition } from '../store/partitions/manage.ts'
import { codeOf } from '../store/trouble.ts'

const isMissing = '3D000'
const isThere = '42P04'
const inUse = '55006'
const prefix = 'carillon_test_'
const templatePrefix = 'carillon_testing_'
const patienceMs = 10_000
/** One shard, since there is one node. */
export const installation = { shardCount: 1, partitionHours: 24 * 31, retentionDays: 3_650 }
/** Hours in a partition: a test may advance by centuries and keeps few rows. The template has three partitions. */
const partitionHours = 2_900 * 365 * 24
/** Beyond it a partition would be missing. */
export const endOfTime = Date.UTC(4_800, 0, 1)
const partitionsSql = `
  alter table carillon.installation drop constraint installation_partition_hours_check, alter partition_hours type int;
  update carillon.installation set partition_hours = ${partitionHours};`

/**
 * `carillon.enqueue` is called in transactions of the program under test, which cannot hand it the time: there it is read
 * from a table.
 */
const clockSql = `
  create schema carillon_testing;
  create table carillon_testing.clock (now timestamptz not null);
  insert into carillon_testing.clock values ('2000-01-01Z');
  create function carillon_testing.now() returns timestamptz language sql volatile return (select now from carillon_testing.clock);`

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

/**
 * `server`: the URL of any database whose user may create others. One that does not wait for the disk copies files in half
 * the time that it takes to log them; on any other that would cost two checkpoints.
 */
export async function createTestDatabase(
  server: string,
  { waitsForDisk }: { waitsForDisk: boolean },
): Promise<TestDatabase> {
  const name = prefix + randomBytes(8).toString('hex')
  const sql = `create database ${name} template ${templateName()} strategy ${waitsForDisk ? 'wal_log' : 'file_copy'}`
  await withClient(server, (client) => copyTemplate(client, server, sql))
  return {
    url: urlOf(server, name),
    drop: () => withClient(server, (client) => client.query(`drop database if exists ${name} with (force)`)),
  }
}

/** What processes that were killed left behind on a server of ours, and templates of other versions. */
export async function dropLeftovers(server: string): Promise<void> {
  await withClient(server, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where (datname like $1 or datname like $2) and datname <> $3',
      [`${prefix}%`, `${templatePrefix}%`, templateName()],
    )
    for (const { datname } of rows)
      await client.query(`drop database if exists ${pg.escapeIdentifier(datname)} with (force)`)
  })
}

/** The time at which a test begins: the history is kept from the day before. */
export async function setOut(database: Database, now: Date): Promise<void> {
  await setClock(database, now)
  await database.query(
    null,
    `update carillon.installation
     set floor_id = carillon.first_id(carillon.ms(date_trunc('day', $1::timestamptz at time zone 'UTC') at time zone 'UTC' - interval '1 day'))`,
    [now],
  )
}

export async function setClock(database: Database, now: Date): Promise<void> {
  await database.query('set-testing-clock', 'update carillon_testing.clock set now = $1', [now])
}

async function copyTemplate(client: pg.Client, server: string, sql: string): Promise<void> {
  const giveUpAt = monotonicMs() + patienceMs
  for (;;) {
    try {
      await client.query(sql)
      return
    } catch (error) {
      const code = codeOf(error)
      if (code === isMissing) await makeTemplate(client, server, templateName())
      // Its creator's last sessions are still closing.
      else if (code === inUse && monotonicMs() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 20))
      else throw error
    }
  }
}

/** It appears under its name complete or not at all; of several that make it at once the first one wins. */
async function makeTemplate(client: pg.Client, server: string, template: string): Promise<void> {
  const aside = prefix + randomBytes(8).toString('hex')
  await client.query(`create database ${aside}`)
  try {
    await fill(urlOf(server, aside))
    await client.query(`alter database ${aside} rename to ${template}`)
  } catch (error) {
    await client.query(`drop database if exists ${aside} with (force)`)
    if (codeOf(error) !== isThere) throw error
  }
}

async function fill(url: string): Promise<void> {
  const applicationName = 'carillon testing'
  const database = new Database({ url, maxConnections: 1, statementTimeoutMs: 60_000, applicationName })
  try {
    await migrate(database, installation)
    const width = partitionHours * 3_600_000
    for (const n of [0, 1, 2]) await createPartition(database, n * width, (n + 1) * width)
  } finally {
    await database.end()
  }
  await withClient(url, async (client) => {
    await client.query(partitionsSql + clockSql)
    const { rows } = await client.query<{ text: string }>(`select pg_get_functiondef('carillon.enqueue'::regproc) text`)
    const text = rows[0]!.text.replaceAll('clock_timestamp()', 'carillon_testing.now()')
    assert(text !== rows[0]!.text, 'carillon.enqueue does not ask for the time any more')
    await client.query(text)
  })
}

let named: string | null = null

function templateName(): string {
  named ??=
    templatePrefix +
    createHash('sha256')
      .update(schemaSql() + partitionsSql + clockSql)
      .digest('hex')
      .slice(0, 16)
  return named
}

function urlOf(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new PostgresClient({ connectionString: url, application_name: 'carillon testing' })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
