/**
 * A connection may be ended at any moment: by an operator, a failover, a proxy, also in the packet that says that it is
 * ready. No process ends because of that, whichever part holds the connection, and nothing is lost or run twice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { examine, migrateDatabase } from '../../packages/server/src/administration/index.ts'
import { engineConfig } from '../../packages/server/src/config/engine-config.ts'
import { KeepAliveThread } from '../../packages/server/src/keep-alive/keep-alive.ts'
import { PostgresClient } from '../../packages/server/src/lib/postgres-client.ts'
import { Engine } from '../../packages/server/src/main.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { NotifySignals } from '../../packages/server/src/signals/notify.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { isTransient } from '../../packages/server/src/store/trouble.ts'
import { quickTimes, testCarillon } from '../support/carillon.ts'
import { type FakePostgres, fakePostgres, fatal, ready } from '../support/fake-postgres.ts'
import { until } from '../support/until.ts'

const logger = createLogger('fatal')

/** An `error` event that nobody listens to, or a promise that nobody awaits: either would end a real process. */
const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)
let others: NodeJS.UncaughtExceptionListener[] = []

beforeEach(() => {
  unhandled.length = 0
  others = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', note)
})

afterEach(() => {
  process.off('uncaughtException', note)
  for (const other of others) process.on('uncaughtException', other)
})

describe('a connection that is ended in the packet that says it is ready', () => {
  let server: FakePostgres
  beforeEach(async () => {
    server = await fakePostgres({ onStartup: Buffer.concat([ready, fatal('57P01')]), hangUp: true })
  })
  afterEach(() => server[Symbol.asyncDispose]())

  const database = () =>
    new Database({ url: server.url, maxConnections: 2, statementTimeoutMs: 1_000, applicationName: 'test' })
  const settings = () => ({ databaseUrl: server.url, ...quickTimes })

  const ways: Record<string, () => Promise<unknown>> = {
    'a statement': () => database().query('a', 'select 1'),
    'a statement with more time': () => database().query(null, 'select 1', [], { withinMs: 2_000 }),
    'a connection of its own': async () => (await database().connect()).query('select 1'),
    'a client': async () => {
      const client = new PostgresClient({ connectionString: server.url })
      await client.connect()
      await client.query('select 1')
    },
    'a migration': () => migrateDatabase({ databaseUrl: server.url }),
    'the doctor': () => examine({ databaseUrl: server.url }),
    'a node that starts': () => new Engine(engineConfig(settings()), logger).start(),
  }

  it.each(Object.entries(ways))('%s fails with passing trouble', async (_, way) => {
    const error = await way().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(isTransient(error), `${error}`).toBe(true)
    await later()
    expect(unhandled).toEqual([])
  })

  it('the keep-alive thread and the listener for signals try again', async () => {
    const signals = new NotifySignals({ database: database(), nodeId: 'x', logger })
    await signals.start()
    const { databaseUrl, renewEveryMs, leaseMs, lifeMs } = engineConfig(settings())
    const times = { renewEveryMs, workersEveryMs: 100, answerWithinMs: leaseMs }
    const keepAlive = new KeepAliveThread({ databaseUrl, ...times }, logger)
    await keepAlive.start()
    void keepAlive.startRenewing({ nodeId: 'x', nodeName: 'x', leaseMs, lifeMs })
    await until(() => server.accepted > 5)
    await Promise.all([signals.stop(), keepAlive.stop()])
    expect(unhandled).toEqual([])
  })

  it('a node on the command line exits with 3', async () => {
    const program = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
    const child = spawn(process.execPath, [program, 'serve', '--port', '0', '--database-url', server.url])
    const [code] = await once(child, 'exit')
    expect(code).toBe(3)
  })
})

it('a node lives through a storm of terminated connections: nothing is lost, nothing is there twice', {
  timeout: 120_000,
}, async () => {
  const tick = defineHandler<{ n: number }>({ name: 'tick' })
  const runs: number[] = []
  await using test = await testCarillon((carillon) => {
    carillon.handle(tick, { concurrency: 20 }, async (ctx) => {
      runs.push(ctx.payload.n)
      return 'done'
    })
  })
  const stormer = new pg.Client({ connectionString: test.databaseUrl, application_name: 'stormer' })
  await stormer.connect()
  const acknowledged: number[] = []
  try {
    for (let n = 0; n < 80; n++) {
      if (n % 10 === 0)
        await stormer.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        )
      await test.carillon.enqueue(tick, { n }).then(
        () => acknowledged.push(n),
        (error) => expect(isTransient(error), `${error}`).toBe(true),
      )
    }
    expect(acknowledged.length).toBeGreaterThan(20)
    await until(() => acknowledged.every((n) => runs.includes(n)), 60_000)
    const { rows } = await stormer.query<{ twice: number }>(
      'select (count(*) - count(distinct payload))::int twice from carillon.executions',
    )
    expect(rows[0]!.twice).toBe(0)
  } finally {
    await stormer.end()
  }
  await later()
  expect(unhandled).toEqual([])
})

/** Until everything that is on its way in the event loop has happened. */
async function later(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
}
