/** The database dies or freezes, locks are held, connections break after the commit: what was acknowledged is there, once. */

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { silentLogger } from '@carillon/contract/process'
import { createClient, defineHandler } from '@carillon/sdk'
import { type ServedNode, serve } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../packages/embedded/src/index.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type Asked, ask } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { oneShot, tally } from './tenants.ts'

let dataDir: string
let postgres: EmbeddedPostgres
let node: ServedNode
const started: ServedNode[] = []
const quick = { fsync: 'off', full_page_writes: 'off' }

async function start(): Promise<ServedNode> {
  const settings = { databaseUrl: postgres.url, port: 0, engine: quickTimes }
  const each = await serve(settings, createLogger('silent'))
  started.push(each)
  return each
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'carillon-test-'))
  postgres = await startEmbeddedPostgres({ dataDir, settings: quick })
  node = await start()
})
afterAll(async () => {
  for (const each of started) await each.stop()
  await postgres?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

async function found(ids: string[]): Promise<number> {
  const rows = await sql<{ n: string }>(
    'select count(*) n from carillon.executions where execution_id = any ($1::uuid[])',
    [ids],
  )
  return Number(rows[0]!.n)
}

/** Submits without a break while something happens. */
async function submitting(happens: (taken: string[]) => Promise<void>): Promise<{ taken: string[]; refused: Asked[] }> {
  let going = true
  const taken: string[] = []
  const refused: Asked[] = []
  const one = async () => {
    while (going) {
      const answer = await ask(node.url, 'POST /v1/jobs', oneShot)
      if (answer.status === 201) taken.push(answer.body.jobId)
      else refused.push(answer)
      if (answer.status !== 201) await after(20)
    }
  }
  const all = Promise.all(Array.from({ length: 4 }, one))
  await happens(taken).finally(() => {
    going = false
  })
  await all
  return { taken, refused }
}

describe('a connection that breaks right after the request', () => {
  it('repeated with its Idempotency-Key, it had one effect', async () => {
    const { hostname, port } = new URL(node.url)
    const bodyOf = (i: number) => JSON.stringify({ ...oneShot, name: `broken off ${i}` })
    const breakOff = (i: number) =>
      new Promise<void>((resolve) => {
        const body = bodyOf(i)
        const head = `POST /v1/jobs HTTP/1.1\r\nHost: ${hostname}\r\nIdempotency-Key: broken-${i}\r\n`
        const rest = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
        const socket = connect(Number(port), hostname, () => {
          socket.write(head + rest, () => setTimeout(() => socket.resetAndDestroy(), i % 10))
        })
        socket.on('error', () => {})
        socket.on('close', () => resolve())
      })
    const numbers = Array.from({ length: 200 }, (_, i) => i)
    const again = (i: number) => ask(node.url, 'POST /v1/jobs', bodyOf(i), { 'idempotency-key': `broken-${i}` })
    await Promise.all(numbers.map(breakOff))
    const second = await Promise.all(numbers.map(again))
    const third = await Promise.all(numbers.map(again))
    expect(third.map(({ body }) => body)).toEqual(second.map(({ body }) => body))
    const rows = await sql<{ n: string }>(
      `select count(*) n from carillon.executions where name like 'broken off %' group by name`,
    )
    expect(tally(rows.map(({ n }) => n))).toEqual({ 1: 200 })
  })
})

describe('somebody holds the lock', () => {
  it('a change says so soon, instead of hanging', async () => {
    const job = { type: 'CRON', schedule: '0 0 1 1 *', target: { handler: 'h' } }
    const { jobId } = (await ask(node.url, 'POST /v1/jobs', job)).body
    const holder = new pg.Client({ connectionString: postgres.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from carillon.schedules where job_id = $1 for update', [jobId])
    const path = `/v1/jobs/${jobId}`
    const answers = await Promise.all([
      ask(node.url, `PATCH ${path}`, { name: 'another' }),
      ask(node.url, `POST ${path}/trigger`),
      ask(node.url, `DELETE ${path}`),
    ])
    for (const { status, body, headers } of answers) {
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '1'])
      expect(body.detail).toContain('took too long')
    }
    expect((await ask(node.url, `GET ${path}`)).body).toMatchObject({ state: 'ACTIVE', version: 1 })
    await holder.end()
    expect((await ask(node.url, `PATCH ${path}`, { name: 'another' })).status).toBe(200)
  })
})

describe('PostgreSQL', () => {
  it('stands still for a while: nothing is lost, the node says that it is not ready', async () => {
    const backends = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postgres.pid)], { encoding: 'utf8' })
    const pids = [postgres.pid, ...backends.trim().split(/\s+/).map(Number)]
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      for (const pid of pids) process.kill(pid, name)
    }
    const { taken } = await submitting(async () => {
      signal('SIGSTOP')
      try {
        expect((await ask(node.url, 'GET /healthz')).status).toBe(200)
        expect((await ask(node.url, 'GET /readyz')).status).toBe(503)
      } finally {
        signal('SIGCONT')
      }
      await until(async () => (await ask(node.url, 'GET /readyz')).status === 200)
    })
    expect(await found(taken)).toBe(taken.length)
  })

  it('is killed and comes back: refusals say to try again, what was taken is there, work goes on', async () => {
    const { port } = postgres
    const { taken, refused } = await submitting(async (before) => {
      await until(() => before.length > 20)
      process.kill(postgres.pid, 'SIGKILL')
      await until(async () => (await ask(node.url, 'GET /readyz')).status === 503)
      const { status, body, headers } = await ask(node.url, 'GET /v1/jobs')
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '1'])
      await postgres.stop()
      postgres = await startEmbeddedPostgres({ dataDir, port, settings: quick })
      await until(async () => (await ask(node.url, 'POST /v1/jobs', oneShot)).status === 201)
    })
    expect(await found(taken)).toBe(taken.length)
    expect(tally(refused.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`))).toEqual({
      '503 1': refused.length,
    })
    const each = { type: 'CRON', schedule: '* * * * * *', target: { handler: 'h' } }
    const { jobId } = (await ask(node.url, 'POST /v1/jobs', each)).body
    await until(async () => (await ask(node.url, `GET /v1/jobs/${jobId}/executions`)).body.items.length > 0)
    await ask(node.url, `DELETE /v1/jobs/${jobId}`)
  })
})

it('a node that stops answers those who wait, and does not wait for connections that are kept alive', async () => {
  const leaving = await start()
  const { jobId } = (await ask(leaving.url, 'POST /v1/jobs', oneShot)).body
  const path = `GET /v1/executions/${jobId}?waitSec=60`
  const waiting = Array.from({ length: 20 }, () => ask(leaving.url, path))
  let busy = true
  const others = Array.from({ length: 5 }, async () => {
    while (busy) await ask(leaving.url, 'GET /healthz').catch(() => after(10))
  })
  // Whoever came before this one has been let in.
  await ask(leaving.url, 'GET /readyz')
  await leaving.stop()
  busy = false
  await Promise.all(others)
  expect(tally((await Promise.all(waiting)).map(({ body }) => body.state))).toEqual({ PENDING: 20 })
})

it('nodes come and go while a client submits: each submission that it was told of is there once', async () => {
  const first = await start()
  const second = await start()
  const urls = [first.url, second.url]
  const client = createClient({ urls, logger: silentLogger })
  const handler = defineHandler<{ number: number }>({ name: 'coming and going' })
  let going = true
  const told: string[] = []
  let number = 0
  const submit = async () => {
    while (going) told.push((await client.enqueue(handler, { number: number++ })).executionId)
  }
  const all = Promise.all(Array.from({ length: 4 }, submit))
  await until(() => told.length > 50)
  await first.stop()
  const port = Number(new URL(first.url).port)
  const settings = { databaseUrl: postgres.url, port, engine: quickTimes }
  started.push(await serve(settings, createLogger('silent')))
  await second.stop()
  const before = told.length
  await until(() => told.length > before + 50)
  going = false
  await all
  await client.close()
  expect(await found(told)).toBe(told.length)
  const rows = await sql<{ n: string }>(
    `select count(*) n from carillon.executions where handler = 'coming and going' group by payload`,
  )
  expect(tally(rows.map(({ n }) => n))).toEqual({ 1: number })
})
