/**
 * Brings the schema up to this version: numbered files, forward only, under an advisory lock, so that ten nodes may
 * start at once. The functions are created again whenever their text differs from what the database holds; a change
 * of a function's arguments takes a new name, because nodes of two versions run side by side.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { CarillonError } from '@carillon/contract'
import type pg from 'pg'
import type { Database } from './database.ts'

/** Any number, the same for all nodes. */
const advisoryLock = 0x0ca1_1110

/** The tables that record which migrations and functions the database holds. */
const booksSql = `
create schema if not exists carillon;
create table if not exists carillon.migrations (
  version int primary key, name text not null, breaking boolean not null,
  applied_at timestamptz not null default clock_timestamp());
create table if not exists carillon.function_texts (
  singleton boolean primary key default true check (singleton), digest text not null);`

/**
 * The folders of functions/ in the order in which they are applied. PostgreSQL checks the body of a `language sql` function
 * when it is created, so the folders that such bodies call come first; `schema` concerns all functions and comes last.
 */
export const functionFolders = [
  ...[
    'values',
    'administration',
    'pools',
    'leases',
    'workers',
    'limits',
    'births',
    'ends',
    'dags',
    'shards',
    'firing',
    'jobs',
  ],
  ...['submissions', 'reads', 'operations', 'events', 'quarantine', 'verification', 'schema'],
] as const

interface Migration {
  version: number
  name: string
  sql: string
  /** A node that does not know this migration cannot work with the migrated schema. */
  breaking: boolean
}

export interface InstallationSettings {
  shardCount: number
  partitionHours: number
  retentionDays: number
}

export async function migrate(database: Database, settings: InstallationSettings): Promise<void> {
  const client = await database.connect()
  try {
    // Building the schema takes longer than a statement of the engine may.
    await client.query('set statement_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [advisoryLock])
    try {
      await client.query('begin')
      await apply(client, settings, database.now)
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      await client.query('select pg_advisory_unlock($1)', [advisoryLock])
    }
  } finally {
    client.release(true)
  }
}

async function apply(client: pg.PoolClient, settings: InstallationSettings, now: Date | null): Promise<void> {
  await requireServerVersion(client)
  // Asked first: even `create … if not exists` needs the right to create, which a node need not have.
  const { rows: books } = await client.query(`select to_regclass('carillon.function_texts') is not null there`)
  if (!books[0].there) await client.query(booksSql)
  const known = readMigrations()
  const newest = known.at(-1)!.version
  const { rows: applied } = await client.query<{ version: number; name: string; breaking: boolean }>(
    'select version, name, breaking from carillon.migrations order by version',
  )
  const foreign = applied.find((m) => m.version > newest && m.breaking)
  if (foreign) {
    throw new CarillonError('SCHEMA_TOO_NEW', {
      message: `The database has migration ${foreign.version} (${foreign.name}), this version knows up to ${newest}`,
      hint: 'Upgrade this node to the version that runs on the other nodes',
    })
  }
  const missing = known.filter((m) => !applied.some((a) => a.version === m.version))
  const current = applied.every((m) => m.version <= newest)
  await requireOwner(client, { behind: missing.length > 0 || (current && !(await functionsMatch(client))) })
  for (const migration of missing) {
    await client.query(migration.sql)
    await client.query('insert into carillon.migrations (version, name, breaking) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.breaking,
    ])
  }
  if (current) await layFunctions(client)
  if (missing.length > 0) await client.query('select carillon.grant_roles()')
  await createInstallation(client, settings, now)
}

/** A node need not own the schema, but then it must be at this version already. */
async function requireOwner(client: pg.PoolClient, { behind }: { behind: boolean }): Promise<void> {
  if (!behind) return
  const { rows } = await client.query<{ owner: string; owns: boolean; role: string }>(
    `select nspowner::regrole::text owner, pg_has_role(nspowner, 'usage') owns, current_user role
     from pg_namespace where nspname = 'carillon'`,
  )
  const { owner, owns, role } = rows[0]!
  if (owns) return
  throw new CarillonError('CONFIG_INVALID', {
    pointer: '/databaseUrl',
    message: `the schema is of another version, and the role ${role} does not own it`,
    hint: `Run \`carillon migrate\` as ${owner}, then start this node again`,
  })
}

async function requireServerVersion(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ number: number; name: string }>(
    `select current_setting('server_version_num')::int number, current_setting('server_version') name`,
  )
  const { number, name } = rows[0]!
  if (number < 150_000) {
    throw new CarillonError('CONFIG_INVALID', {
      message: `PostgreSQL ${name} is too old`,
      hint: 'Carillon needs PostgreSQL 15 or later',
    })
  }
}

async function functionsMatch(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ digest: string }>('select digest from carillon.function_texts')
  return rows[0]?.digest === digestOf(functionsSql())
}

async function layFunctions(client: pg.PoolClient): Promise<void> {
  if (await functionsMatch(client)) return
  const text = functionsSql()
  const digest = digestOf(text)
  await client.query(text)
  await client.query(
    'insert into carillon.function_texts (digest) values ($1) on conflict (singleton) do update set digest = excluded.digest',
    [digest],
  )
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The settings of the first node to arrive hold; later ones read them. */
async function createInstallation(
  client: pg.PoolClient,
  settings: InstallationSettings,
  now: Date | null,
): Promise<void> {
  const { rowCount: there } = await client.query('select from carillon.installation')
  if (there === 1) return
  await client.query(
    `insert into carillon.installation (shard_count, partition_hours, retention_days, floor_id)
     values ($1, $2, $3, carillon.first_id(carillon.ms(
       date_trunc('day', coalesce($4, clock_timestamp()) at time zone 'UTC') at time zone 'UTC' - interval '1 day')))`,
    [settings.shardCount, settings.partitionHours, settings.retentionDays, now],
  )
  await client.query('insert into carillon.shards (shard) select generate_series(0, $1 - 1)', [settings.shardCount])
  await client.query('select carillon.bind_shards($1)', [settings.shardCount])
  await client.query(`insert into carillon.pools (pool) values ('default')`)
}

/**
 * All the SQL of an empty installation, for people who apply it by hand. It records what it applied as `migrate` does, so that
 * the nodes started afterwards find their schema.
 */
export function schemaSql(): string {
  const migrations = readMigrations().map(
    ({ version, name, breaking, sql }) =>
      `${sql}\ninsert into carillon.migrations (version, name, breaking) values (${version}, '${name}', ${breaking});`,
  )
  const functions = functionsSql()
  const digest = `insert into carillon.function_texts (digest) values ('${digestOf(functions)}');\n`
  return [booksSql, ...migrations, functions, digest].join('\n')
}

/** The SQL that creates the group roles and grants them what they need; harmless when repeated. */
export function rolesSql(): string {
  return readFileSync(new URL('./roles/roles.sql', import.meta.url), 'utf8')
}

/** The version this program brings a database to. */
export function newestMigration(): number {
  return readMigrations().at(-1)!.version
}

function readMigrations(): Migration[] {
  return sqlFiles('migrations').map(({ file, sql }) => ({
    version: Number.parseInt(file.slice(0, 4), 10),
    name: file.slice(5, -'.sql'.length),
    sql,
    breaking: /^-- .*breaking: yes/m.test(sql),
  }))
}

function functionsSql(): string {
  return functionFolders
    .flatMap((folder) => sqlFiles(`functions/${folder}`))
    .map(({ sql }) => sql)
    .join('\n')
}

function sqlFiles(folder: string): { file: string; sql: string }[] {
  const at = new URL(`./${folder}/`, import.meta.url)
  return readdirSync(at)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => ({ file, sql: readFileSync(new URL(file, at), 'utf8') }))
}
