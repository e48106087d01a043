/** What the driver throws, told apart: the connection is gone, PostgreSQL said no, or a bug. */
import { type ServedNode, serve } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ConnectionLostError, PostgresClient } from '../../packages/server/src/lib/postgres-client.ts'
import type { Logger } from '../../packages/server/src/observability/logger.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { TcpProxy } from '../../proof/chaos/tcp-proxy.ts'
import { type FakeAnswers, fakePostgres, fatal, ready } from '../support/fake-postgres.ts'
import { ask } from '../support/http-node.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

const thrown = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  )
const open = (url: string, maxConnections = 2, statementTimeoutMs = 1_000) =>
  new Database({ url, maxConnections, statementTimeoutMs, applicationName: 'test' })

describe('the connection is gone', () => {
  const servers: [string, FakeAnswers][] = [
    ['before it was ready', { onStartup: Buffer.alloc(0), hangUp: true }],
    ['as soon as it was ready', { onStartup: ready, hangUp: true }],
  ]
  it.each(servers)('%s', async (_, answers) => {
    await using server = await fakePostgres(answers)
    expect(await thrown(open(server.url).query(null, 'select 1'))).toBeInstanceOf(ConnectionLostError)
  })

  it('nobody listens there', async () => {
    const error = await thrown(open('postgres://127.0.0.1:1/x').query(null, 'select 1'))
    expect(error).toBeInstanceOf(ConnectionLostError)
    expect(String(error)).toContain('ECONNREFUSED')
  })

  it('no answer comes', async () => {
    await using server = await fakePostgres({ onStartup: ready, hangUp: false })
    const client = new PostgresClient({ connectionString: server.url })
    await client.connect()
    const error = await thrown(client.query({ text: 'select 1', answerWithinMs: 20 }))
    expect(error).toBeInstanceOf(ConnectionLostError)
    expect(String(error)).toContain('no answer within 20 ms')
  })

  it('it was closed by this side', async () => {
    const database = open(inject('postgresUrl'))
    await database.end()
    expect(await thrown(database.query(null, 'select 1'))).toBeInstanceOf(ConnectionLostError)
  })

  it('what PostgreSQL said last is kept', async () => {
    await using server = await fakePostgres({ onStartup: fatal('57P03'), hangUp: true })
    const error = await thrown(open(server.url).query(null, 'select 1'))
    expect(error).toBeInstanceOf(pg.DatabaseError)
    expect(error).toMatchObject({ code: '57P03' })
  })
})

describe('a bug stays a bug', () => {
  const bugs: [string, (database: Database) => Promise<unknown>][] = [
    ['a value that cannot be sent', (database) => database.query(null, 'select $1::text', [circle()])],
    [
      'two texts under one name',
      async (database) => {
        await database.query('twice', 'select 1')
        await database.query('twice', 'select 2')
      },
    ],
  ]
  it.each(bugs)('%s', async (_, work) => {
    const database = open(inject('postgresUrl'))
    const error = await thrown(work(database))
    await database.end()
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(ConnectionLostError)
    expect(error).not.toBeInstanceOf(pg.DatabaseError)
    expect((error as Error).stack).toContain('    at ')
  })
})

describe('a request', () => {
  const logged: { err?: Error }[] = []
  const logger: Logger = {
    debug() {},
    info() {},
    warn() {},
    error: (fields) => void logged.push(fields),
  }
  let database: TestDatabase
  let proxy: TcpProxy
  let target: number
  let node: ServedNode
  beforeAll(async () => {
    database = await createDatabase()
    const url = new URL(database.url)
    target = Number(url.port)
    proxy = await TcpProxy.open(() => target)
    url.port = `${proxy.port}`
    node = await serve({ databaseUrl: url.href, port: 0 }, logger)
  })
  afterAll(async () => {
    await node.stop()
    await proxy.close()
    await database.drop()
  })

  const job = { type: 'ONE_SHOT', target: { handler: 'x' } }

  it('that explains an execution and one that is deduped share connections, not names of statements', async () => {
    const first = await ask(node.url, 'POST /v1/jobs', job)
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const answer =
          n % 2 === 0
            ? await ask(node.url, `GET /v1/executions/${first.body.jobId}/explain`)
            : await ask(node.url, 'POST /v1/jobs', { ...job, dedupe: { key: 'k' } })
        return answer.status
      }),
    )
    expect(statuses.filter((status) => status >= 400)).toEqual([])
  })

  it('that meets a bug is answered with 500, and the stack is in the log', async () => {
    const sql = new pg.Client({ connectionString: database.url })
    await sql.connect()
    try {
      await sql.query('alter table carillon.workers rename to was_workers')
      const { status, body } = await ask(node.url, 'GET /v1/workers')
      expect([status, body.code]).toEqual([500, 'INTERNAL'])
      expect(logged.some(({ err }) => err?.stack?.includes('list.ts'))).toBe(true)
    } finally {
      await sql.query('alter table carillon.was_workers rename to workers')
      await sql.end()
    }
  })

  it('that meets a lost connection is answered with 503', async () => {
    target = 1
    proxy.cut()
    const { status, body } = await ask(node.url, 'GET /v1/workers')
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE'])
    target = Number(new URL(database.url).port)
  })
})

function circle(): object {
  const value: Record<string, unknown> = {}
  value.itself = value
  return value
}
