/**
 * Behind PgBouncer. In transaction mode a node works with a second URL that leads to PostgreSQL itself; without one it says at
 * its start what it needs and stops. In session mode it works as without PgBouncer.
 */
import { createCarillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { examine, migrateDatabase } from '../../packages/server/src/administration/index.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { isTransient, wasTooSlow } from '../../packages/server/src/store/trouble.ts'
import { carillon as runCli } from '../integration/cli/cli.ts'
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let byTransaction: PgBouncer
let bySession: PgBouncer
beforeAll(async () => {
  database = await createDatabase()
  byTransaction = await startPgBouncer(inject('postgresUrl'), 'transaction')
  bySession = await startPgBouncer(inject('postgresUrl'), 'session')
})
afterAll(async () => {
  await byTransaction.stop()
  await bySession.stop()
  await database.drop()
})

const refusal = /directUrl|--direct-url/

describe('in transaction mode', () => {
  it('without a direct URL a node refuses to start and says what it needs', async () => {
    const carillon = await createCarillon({ databaseUrl: byTransaction.through(database.url), logLevel: 'fatal' })
    const error = await carillon.start().then(
      () => null,
      (thrown: { code?: string; errors?: { message: string; hint?: string }[] }) => thrown,
    )
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(error?.errors?.[0]?.message).toMatch(/lends connections by the transaction/)
    expect(error?.errors?.[0]?.hint).toMatch(refusal)
    await carillon.stop()
  })

  it('so do migrate, doctor and a direct URL that is none', async () => {
    const pooled = byTransaction.through(database.url)
    for (const work of [
      () => migrateDatabase({ databaseUrl: pooled }),
      () => examine({ databaseUrl: pooled }),
      () => migrateDatabase({ databaseUrl: pooled, directUrl: pooled }),
    ])
      await expect(work()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('with one, three nodes share the work: crons, enqueueing, signals, results', async () => {
    const tick = defineHandler<{ n?: number }>({ name: 'tick' })
    const runs: number[] = []
    const nodes = await Promise.all(
      ['a', 'b', 'c'].map((nodeName) =>
        createCarillon({
          ...{ databaseUrl: byTransaction.through(database.url), directUrl: database.url, nodeName, logLevel: 'error' },
        }),
      ),
    )
    for (const node of nodes)
      node.handle(tick, { concurrency: 10 }, async (ctx) => {
        runs.push(ctx.payload.n ?? -1)
        return 'done'
      })
    try {
      await Promise.all(nodes.map((node) => node.start()))
      await nodes[0]!.schedule(tick, {}, { key: 'k', cron: '* * * * * *', timezone: 'UTC' })
      const handles = await Promise.all(Array.from({ length: 100 }, (_, n) => nodes[n % 3]!.enqueue(tick, { n })))
      for (const handle of handles) expect(await handle.result()).toBe('done')
      await until(() => runs.filter((n) => n === -1).length >= 5, 20_000)
      expect(runs.filter((n) => n >= 0).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n))
    } finally {
      await Promise.all(nodes.map((node) => node.stop()))
    }
  })

  it('statements keep their time limits, and leave none behind', async () => {
    const open = (statementTimeoutMs: number) =>
      new Database({
        ...{ url: byTransaction.through(database.url), directUrl: database.url, maxConnections: 1 },
        ...{ statementTimeoutMs, applicationName: 'test' },
      })
    const quick = open(200)
    const error = await quick.query('slow', 'select pg_sleep(5)').catch((thrown: unknown) => thrown)
    expect(wasTooSlow(error)).toBe(true)
    expect(isTransient(error)).toBe(true)
    await quick.query('slow', 'select pg_sleep(5)', [], { withinMs: 300 }).catch(() => {})
    expect(await quick.query('one', 'select $1::int n', [1])).toEqual([{ n: 1 }])
    await quick.end()
    const client = new pg.Client({ connectionString: byTransaction.through(database.url) })
    await client.connect()
    const { rows } = await client.query(
      `select current_setting('statement_timeout') t, count(*)::int n from pg_prepared_statements`,
    )
    await client.end()
    expect(rows).toEqual([{ t: '0', n: 0 }])
  })

  it('the command line takes --direct-url', async () => {
    const args = ['doctor', '--database-url', byTransaction.through(database.url)]
    const refused = await runCli(args)
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toMatch(refusal)
    const served = await runCli(['migrate', ...args.slice(1), '--direct-url', database.url])
    expect(served.exitCode).toBe(0)
  })
})

it('in session mode a node needs no second URL', async () => {
  const tick = defineHandler<object>({ name: 'session-tick' })
  const node = await createCarillon({ databaseUrl: bySession.through(database.url), logLevel: 'error' })
  node.handle(tick, async () => 'done')
  try {
    await node.start()
    expect(await (await node.enqueue(tick, {})).result()).toBe('done')
  } finally {
    await node.stop()
  }
})
