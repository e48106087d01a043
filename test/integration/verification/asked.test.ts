/** As people ask: over HTTP, by the client, on the command line; and beside an installation that goes on. */
import { createClient } from '@carillon/sdk'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { occurrenceId } from '../../../packages/server/src/domain/identity.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { verifyInstallation } from '../../../packages/server/src/verification/installation.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { carillon } from '../cli/cli.ts'

const everySecond = { type: 'INTERVAL', interval: 'PT1S', target: { handler: 'of-nobody' } } as const

let node: HttpNode
let sql: pg.Client
let since: string
const jobIds: string[] = []

const count = async () => (await sql.query('select count(*)::int n from carillon.executions')).rows[0].n as number

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  sql = new pg.Client({ connectionString: node.databaseUrl })
  await sql.connect()
  since = new Date(Date.now() - 60_000).toISOString()
  for (const key of ['one', 'two', 'three']) {
    jobIds.push((await node.ask('POST /v1/jobs', { ...everySecond, key })).body.jobId)
  }
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

describe('beside an installation that goes on', () => {
  it('what fires, is edited, paused, resumed and deleted meanwhile is never called missing', async () => {
    const database = new Database({
      ...{ url: node.databaseUrl, maxConnections: 2, statementTimeoutMs: 5_000, applicationName: 'test' },
    })
    const [one, two, three] = jobIds
    const began = await count()
    let rounds = 0
    let over = false
    const changing = (async () => {
      for (let i = 0; !over; i++) {
        await node.ask(`PATCH /v1/jobs/${one}`, { timeoutSec: 10 + i })
        await node.ask(`PATCH /v1/jobs/${three}`, { interval: i % 2 ? 'PT1S' : 'PT2S' })
        await node.ask(`POST /v1/jobs/${two}/${i % 2 ? 'resume' : 'pause'}`)
        const { body } = await node.ask('POST /v1/jobs', everySecond)
        await node.ask(`DELETE /v1/jobs/${body.jobId}`)
      }
    })()
    try {
      await until(async () => {
        const now = Date.now()
        const found = await verifyInstallation(database, { from: Date.parse(since), to: now, now })
        expect(found).toMatchObject({ missed: [], doubled: [] })
        rounds++
        return (await count()) >= began + 10 && rounds >= 20
      })
    } finally {
      over = true
      await changing
      await database.end()
    }
    for (const id of [two, three]) await node.ask(`POST /v1/jobs/${id}/resume`)
  })
})

describe('over HTTP', () => {
  it('answers a part at a time', async () => {
    const { status, body } = await node.ask(`GET /v1/verify?from=${since}`)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ missed: 0, doubled: 0, findings: [], nextCursor: null, from: since })
    expect(body.checked.occurrences).toBeGreaterThanOrEqual(10)
    expect(body.outsideHistory).toEqual({ before: null, jobs: 0 })
    const one = await node.ask(`GET /v1/verify?from=${since}&job=${jobIds[0]}`)
    expect(one.body.checked.jobs).toBe(1)
  })

  it('cuts the future off, and says what is outside history', async () => {
    const { body } = await node.ask('GET /v1/verify?from=2001-01-01T00:00:00Z&to=2999-01-01T00:00:00Z')
    expect(Date.parse(body.to)).toBeLessThanOrEqual(Date.now() + 1_000)
    expect(Date.parse(body.outsideHistory.before)).toBeGreaterThan(Date.UTC(2001, 0, 1))
  })

  it.each([
    ['', '/from'],
    ['?from=yesterday', '/from'],
    ['?from=2999-01-01T00:00:00Z', '/from'],
    ['?from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z', '/to'],
    ['?from=2020-01-01T00:00:00Z&job=', '/job'],
    ['?from=2020-01-01T00:00:00Z&cursor=AAAA', '/cursor'],
    ['?from=2020-01-01T00:00:00Z&cursor=MSBKIHggMA', '/cursor'],
    ['?from=2020-01-01T00:00:00Z&limit=1001', '/limit'],
    ['?from=2020-01-01T00:00:00Z&tenant=other', '/tenant'],
  ])('refuses %s at %s', async (query, pointer) => {
    const { status, body } = await node.ask(`GET /v1/verify${query}`)
    expect(status).toBe(422)
    expect(body.errors[0].pointer).toBe(pointer)
  })

  it('does not know the jobs of others', async () => {
    const { status, body } = await node.ask(`GET /v1/verify?from=${since}&job=${crypto.randomUUID()}`)
    expect([status, body.code]).toEqual([404, 'JOB_NOT_FOUND'])
  })

  it('figures are in the metrics once the verifier has begun', async () => {
    await until(async () =>
      (await node.ask('GET /metrics')).body.includes('carillon_verified_occurrences{result="missed"} 0'),
    )
    expect((await node.ask('GET /metrics')).body).toMatch(/^carillon_verified_until_seconds 1\d{9}/m)
  })
})

describe('on the command line', () => {
  const verify = (...args: string[]) => carillon(['verify', '--url', node.url, ...args])

  it('clean: exit code 0', async () => {
    const { exitCode, stdout, stderr } = await verify('--from', since)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/\d+ occurrences of \d+ jobs/)
    expect(stdout).toContain('Clean: everything is accounted for')
  })

  it('outside history: never clean', async () => {
    const { exitCode, stdout, stderr } = await verify('--from', '2001-01-01', '--to', '2999-01-01')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Outside history: nothing is kept of what was due before')
    expect(stdout).not.toContain('Clean')
    expect(stderr).toContain('is still to come: verified up to now')
  })

  it('wrong usage: exit code 2', async () => {
    expect(await verify()).toMatchObject({ exitCode: 2 })
    const backwards = await verify('--from', '1h', '--to', '2h')
    expect(backwards).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is not before --to') })
  })

  it('something missing and something too many: exit code 1, each named, and what to do', async () => {
    const [one] = jobIds
    const { rows } = await sql.query(
      `delete from carillon.executions where execution_id in (
         select execution_id from carillon.executions where job_id = $1 and state is null order by execution_id limit 1)
       returning scheduled_for`,
      [one],
    )
    const at = rows[0].scheduled_for.getTime()
    await sql.query(
      `insert into carillon.executions
       select (jsonb_populate_record(e, jsonb_build_object('execution_id', overlay(e.execution_id::text placing 'ffff' from 33)))).*
       from carillon.executions e where e.job_id = $1 and e.state is null order by e.execution_id limit 1`,
      [one],
    )
    const shown = await verify('--from', since, '--job', 'one')
    expect(shown.exitCode, shown.stdout).toBe(1)
    expect(shown.stdout).toContain(occurrenceId(one!, at))
    expect(shown.stdout).toMatch(/missing +1\n +too many +1\n/)
    expect(shown.stdout).toContain('carillon jobs backfill')
    const printed = await verify('--from', since, '--json')
    expect(printed.exitCode).toBe(1)
    expect(printed.json()).toMatchObject([
      {
        ...{ verdict: 'FOUND', missed: 1, doubled: 1 },
        findings: [
          { kind: 'MISSED', why: 'NO_ROW', jobId: one, scheduledFor: new Date(at).toISOString() },
          { kind: 'DOUBLED', why: 'WRONG_ID', jobId: one },
        ],
      },
    ])
    await using client = createClient({ urls: [node.url] })
    const parts: number[] = []
    const found = await client.verify({ from: since, limit: 1, onPart: ({ missed }) => parts.push(missed) })
    expect(found).toMatchObject({ verdict: 'FOUND', missed: 1, doubled: 1, findings: [{ kind: 'MISSED' }] })
    expect(parts).toEqual([1])
  })
})
