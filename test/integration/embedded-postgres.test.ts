/** Real servers, real processes and real signals: what the embedded PostgreSQL promises in its header. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CarillonError } from '@carillon/contract'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { canReach } from '../../packages/embedded/src/account.ts'
import { prepareBinaries } from '../../packages/embedded/src/binaries.ts'
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'
import { birthOf } from '../../packages/embedded/src/processes.ts'
import { poll } from '../../packages/embedded/src/waiting.ts'
import { createDatabase, isPackaged, packagedBinaries } from '../support/postgres.ts'

const asRoot = process.getuid?.() === 0
const NOBODY = { uid: 65534, gid: 65534 }
const settings = { fsync: 'off', shared_buffers: '16MB' }
const embedded = new URL('../../packages/embedded/src/index.ts', import.meta.url)

/** A process of its own that starts a server, prepares what `then` says, and tells about the server in one line. */
const program = (then: string) => `
  import { startEmbeddedPostgres } from ${JSON.stringify(embedded.href)}
  const tell = (line) => process.stdout.write(JSON.stringify(line) + '\\n')
  try {
    const server = await startEmbeddedPostgres(JSON.parse(process.argv[1]))
    ${then}
    tell({ pid: server.pid, url: server.url })
  } catch (error) {
    tell({ error: { code: error.code, message: error.message } })
  }`
const STAY = 'setInterval(() => {}, 1000)'
const LEAVE = ''
const STOP_ON_INTERRUPT = `
  const stay = setInterval(() => {}, 1000)
  process.once('SIGINT', async () => {
    const { default: pg } = await import(${JSON.stringify(import.meta.resolve('pg'))})
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    tell({ answer: (await client.query('select 41 + 1 as n')).rows[0].n })
    await client.end()
    await server.stop()
    clearInterval(stay)
  })`

interface Told {
  pid: number
  url: string
  answer?: number
  error?: { code: string; message: string }
}

interface Parent {
  process: ChildProcess
  next(): Promise<Told>
}

const folders: string[] = []
const parents: ChildProcess[] = []
const cleanups: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const parent of parents.splice(0)) if (parent.exitCode === null) parent.kill('SIGKILL')
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-embedded-'))
  await chmod(folder, 0o755)
  folders.push(folder)
  return folder
}

async function start(options: EmbeddedPostgresOptions) {
  const server = await startEmbeddedPostgres({ settings, ...options })
  cleanups.push(server.stop)
  return server
}

function startInProcess(then: string, options: EmbeddedPostgresOptions, how: object = {}, wrap: string[] = []): Parent {
  const words = [...wrap, process.execPath, '--input-type=module', '-e', program(then)]
  const [command = '', ...args] = [...words, JSON.stringify({ settings, ...options })]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true, cwd: '/', ...how })
  parents.push(child)
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  return { process: child, next: async () => JSON.parse((await lines.next()).value ?? 'null') }
}

async function ask<T>(url: string, sql: string): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    return rows[0]?.[0] as T
  } finally {
    await client.end()
  }
}

async function untilGone(pid: number): Promise<void> {
  const gone = await poll(async () => ((await birthOf(pid)) === undefined ? true : undefined), {
    everyMs: 10,
    forMs: 10_000,
  })
  expect(gone, `process ${pid} is gone`).toBe(true)
}

async function refusal(starting: Promise<unknown>): Promise<string> {
  const error = await starting.then(
    () => undefined,
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(CarillonError)
  expect(error.code).toBe('EMBEDDED_UNAVAILABLE')
  return error.message
}

describe('a server', () => {
  test('starts on nothing, keeps its data and its password, and leaves nothing behind when stopped', async () => {
    const dataDir = join(await temporaryFolder(), 'new', 'data')
    const first = await startEmbeddedPostgres({ dataDir })
    cleanups.push(first.stop)
    expect(await ask(first.url, 'select current_database()')).toBe('carillon')
    expect(
      await ask(
        first.url,
        `select datcollate || ' ' || datlocprovider::text || ' ' || pg_encoding_to_char(encoding)
                                 from pg_database where datname = 'carillon'`,
      ),
    ).toBe('C b UTF8')
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
      expect(await ask(first.url, `show ${setting}`)).toBe('on')
    expect(await ask(first.url, 'show listen_addresses')).toBe('127.0.0.1')
    expect(await ask(first.url, 'show unix_socket_directories')).toBe('')
    const wrong = new URL(first.url)
    wrong.password = 'guessed'
    await expect(ask(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    expect((await stat(join(dataDir, 'cluster', 'carillon-password'))).mode & 0o777).toBe(0o600)
    await ask(first.url, 'create table kept as select 7 as n')
    await Promise.all([first.stop(), first.stop()])
    await first.stop()
    expect(await birthOf(first.pid)).toBeUndefined()
    expect((await readdir(dataDir)).sort()).toEqual(['cluster', 'server.log'])
    const lines: string[] = []
    const second = await start({ dataDir, log: (line) => lines.push(line) })
    expect(await ask(second.url, 'select n from kept')).toBe(7)
    expect(new URL(second.url).password).toBe(new URL(first.url).password)
    await second.stop()
    expect(lines.join('\n')).toContain('database system is ready to accept connections')
  })

  test('lives at paths with spaces, relative ones, and ones longer than PostgreSQL can hold', async () => {
    const folder = await temporaryFolder()
    const long = join(folder, ...Array<string>(8).fill('ein Ordner mit langem Namen '.repeat(8)))
    const paths = [join(folder, "it's a  path"), long, `${'../'.repeat(30)}${folder.slice(1)}/relative`]
    const servers = await Promise.all(paths.map((dataDir) => start({ dataDir })))
    for (const server of servers) expect(await ask(server.url, 'select 1')).toBe(1)
  })

  test('does not keep its process alive, and goes with it', async () => {
    const parent = startInProcess(LEAVE, { dataDir: join(await temporaryFolder(), 'data') })
    const exit = once(parent.process, 'exit')
    const { pid } = await parent.next()
    expect(await exit).toEqual([0, null])
    await untilGone(pid)
  })

  test('is still there for a process that was interrupted with its whole group', async () => {
    const parent = startInProcess(STOP_ON_INTERRUPT, { dataDir: join(await temporaryFolder(), 'data') })
    const { pid } = await parent.next()
    const exit = once(parent.process, 'exit')
    process.kill(-(parent.process.pid as number), 'SIGINT')
    expect(await parent.next()).toEqual({ answer: 42 })
    expect(await exit).toEqual([0, null])
    expect(await birthOf(pid)).toBeUndefined()
  })

  test.runIf(isPackaged(15))('may be PostgreSQL 15', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const server = await start({ dataDir, binaries: packagedBinaries(15) })
    expect(await ask(server.url, 'show server_version_num')).toMatch(/^15/)
    expect(await ask(server.url, `select datcollate from pg_database where datname = 'carillon'`)).toBe('C')
    await server.stop()
    expect(await refusal(start({ dataDir }))).toMatch(/was made by PostgreSQL 15, but this is PostgreSQL 18/)
  })
})

describe('after kill -9', () => {
  test('of the process: the server ends, and the next start finds all that was committed', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const parent = startInProcess(STAY, { dataDir })
    const { pid, url } = await parent.next()
    await ask(url, 'create table kept as select 7 as n')
    parent.process.kill('SIGKILL')
    await once(parent.process, 'exit')
    const next = await start({ dataDir }) // At once: it waits for the old server itself.
    await untilGone(pid)
    expect(await ask(next.url, 'select n from kept')).toBe(7)
  })

  test('of the process within initdb: nothing half made is taken for data', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const parent = startInProcess(STAY, { dataDir })
    const begun = () =>
      readdir(dataDir).then(
        (names) => names.find((name) => name.startsWith('cluster')),
        () => undefined,
      )
    expect(await poll(begun, { everyMs: 1, forMs: 10_000 })).toMatch(/^cluster\.new-/)
    parent.process.kill('SIGKILL')
    await once(parent.process, 'exit')
    const next = await start({ dataDir })
    expect(await ask(next.url, 'select 1')).toBe(1)
    expect((await readdir(dataDir)).filter((name) => name.startsWith('cluster'))).toEqual(['cluster'])
  })

  test('of the server: it can be stopped and started again, with its data', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const server = await start({ dataDir })
    await ask(server.url, 'create table kept as select 7 as n')
    process.kill(server.pid, 'SIGKILL')
    await server.stop()
    const next = await start({ dataDir })
    expect(await ask(next.url, 'select n from kept')).toBe(7)
  })

  test('a postmaster.pid with the number of an unrelated process does not stand in the way', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const server = await start({ dataDir })
    const file = join(dataDir, 'cluster', 'postmaster.pid')
    const text = await readFile(file, 'utf8')
    await server.stop()
    // A process of the same user, the case in which PostgreSQL itself refuses to start.
    const { uid, gid } = await stat(join(dataDir, 'cluster'))
    const stranger = spawn('/bin/sleep', ['60'], { uid, gid })
    parents.push(stranger)
    await writeFile(file, text.replace(/^\d+/, String(stranger.pid)))
    await chown(file, uid, gid)
    expect(await ask((await start({ dataDir })).url, 'select 1')).toBe(1)
  })
})

describe('is refused, with the reason and in time,', () => {
  test('a directory that is in use, by this process or another', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const both = await Promise.allSettled([start({ dataDir }), start({ dataDir })])
    expect(both.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await refusal(start({ dataDir }))).toMatch(`is in use by this process (pid ${process.pid})`)
    const told = await startInProcess(STAY, { dataDir }).next()
    expect(told.error?.code).toBe('EMBEDDED_UNAVAILABLE')
    expect(told.error?.message).toMatch(`is in use by process ${process.pid}`)
  })

  test.runIf(asRoot && process.platform === 'linux')('a directory in use by another container', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    await start({ dataDir })
    const container = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
    const told = await startInProcess(STAY, { dataDir }, {}, container).next()
    expect(told.error?.message).toMatch('is in use by process')
  })

  test('a directory that holds something else, of which nothing is touched', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'thesis.txt'), 'dear reader')
    expect(await refusal(start({ dataDir: folder }))).toMatch('is not empty')
    expect(await readdir(folder)).toEqual(['thesis.txt'])
    const file = join(folder, 'thesis.txt')
    expect(await refusal(start({ dataDir: file }))).toMatch(file)
  })

  test('damaged data', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    await (await start({ dataDir })).stop()
    await truncate(join(dataDir, 'cluster', 'global', 'pg_control'), 100)
    const message = await refusal(start({ dataDir }))
    expect(message).toMatch('ended while it started')
    expect(message).toMatch('pg_control')
    await rm(join(dataDir, 'cluster', 'PG_VERSION'))
    expect(await refusal(start({ dataDir }))).toMatch('is damaged: PG_VERSION is missing')
  })

  test('a port in use, a setting that does not exist, programs that are not there', async () => {
    const dataDir = join(await temporaryFolder(), 'data')
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    cleanups.push(async () => other.close())
    const { port } = other.address() as { port: number }
    expect(await refusal(start({ dataDir, port }))).toMatch(`Port ${port} of 127.0.0.1 is in use`)
    const unknown = await refusal(start({ dataDir, settings: { ...settings, no_such_setting: '1' } }))
    expect(unknown).toMatch('unrecognized configuration parameter "no_such_setting"')
    expect(await refusal(start({ dataDir, binaries: '/nowhere' }))).toMatch('There is no PostgreSQL in /nowhere')
    expect(await readdir(dataDir)).not.toContain('holder.json')
  })
})

describe('the account', () => {
  test.runIf(asRoot)('of root is never used, even where nobody else can go', async () => {
    const closed = join(await temporaryFolder(), 'closed')
    await mkdir(closed, { mode: 0o700 })
    const dataDir = join(closed, 'my data')
    const server = await start({ dataDir })
    await ask(server.url, 'create table kept as select 7 as n')
    const owner = (await stat(`/proc/${server.pid}`)).uid
    expect(owner).not.toBe(0)
    expect((await stat(join(dataDir, 'cluster'))).uid).toBe(owner)
    await server.stop()
    // Restored from a backup by root.
    await cp(dataDir, join(closed, 'copy'), { recursive: true })
    expect(await ask((await start({ dataDir: join(closed, 'copy') })).url, 'select n from kept')).toBe(7)
  })

  test.runIf(asRoot)(
    'of an ordinary user serves, and data begun there goes on under root and back',
    async ({ skip }) => {
      if (!(await canReach(NOBODY, new URL(embedded).pathname))) skip('another user cannot read this checkout')
      const dataDir = await temporaryFolder()
      await chown(dataDir, NOBODY.uid, NOBODY.gid)
      const run = async (how: object) => {
        const parent = startInProcess(STOP_ON_INTERRUPT, { dataDir }, how)
        const told = await parent.next()
        expect(told.error).toBeUndefined()
        expect((await stat(`/proc/${told.pid}`)).uid).toBe(NOBODY.uid)
        const exit = once(parent.process, 'exit')
        parent.process.kill('SIGINT')
        await exit
      }
      await run({})
      await run(NOBODY)
      await run({})
    },
  )

  test('gets a copy of the programs where npm left them unusable, made once by many at a time', async () => {
    const folder = await temporaryFolder()
    const { folder: installed } = await prepareBinaries({ account: undefined })
    const source = join(folder, 'closed', 'native')
    await cp(installed, source, { recursive: true, verbatimSymlinks: true })
    const links = JSON.parse(await readFile(join(source, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
    for (const { target } of links) await rm(join(folder, 'closed', target))
    await chmod(join(folder, 'closed'), 0o700)
    const caches = [join(folder, 'cache')]
    const account = asRoot ? NOBODY : undefined
    const all = await Promise.all([1, 2].map(() => prepareBinaries({ folder: source, account, caches })))
    expect(new Set(all.map((one) => one.folder)).size).toBe(1)
    expect(all[0]?.major).toBe(18)
    expect(await readdir(caches[0] as string)).toHaveLength(1)
  })
})

test('a test file gets a database of its own, empty or from a template', async () => {
  const one = await createDatabase()
  await ask(one.url, 'create table kept as select 7 as n')
  const two = await createDatabase({ template: one.name })
  expect(await ask(two.url, 'select n from kept')).toBe(7)
  await Promise.all([one.drop(), two.drop()])
  await expect(ask(one.url, 'select 1')).rejects.toMatchObject({ code: '3D000' })
})
