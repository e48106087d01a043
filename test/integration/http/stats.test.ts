/** What happened, by minute and by hour: counted by nodes, written now and then, added up by a duty, and each tenant's own. */
import { createWorker, defineHandler, implementHandler, type Worker } from '@carillon/sdk'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import { StatsRoller } from '../../../packages/server/src/stats/roller.ts'
import { Tally } from '../../../packages/server/src/stats/tally.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { writeStats } from '../../../packages/server/src/store/stats/write.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

let node: HttpNode
let worker: Worker
let database: Database
let sql: pg.Pool
const minuteMs = 60_000
const hourMs = 60 * minuteMs

const work = defineHandler<unknown>({ name: 'work', pool: 'stats' })
const fail = defineHandler<unknown>({ name: 'fail', pool: 'stats' })
const ofTenant = (tenant: string) => ({ 'carillon-tenant': tenant })
const stats = async (tenant: string, query = '') =>
  (await node.ask(`GET /v1/stats${query}`, undefined, ofTenant(tenant))).body
const submit = (tenant: string, handler: string, more: object = {}) =>
  node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { pool: 'stats', handler }, ...more }, ofTenant(tenant))

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  database = new Database({
    url: node.databaseUrl,
    maxConnections: 2,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
  })
  sql = new pg.Pool({ connectionString: node.databaseUrl, max: 1 })
  worker = createWorker({
    urls: [node.url],
    handlers: [
      implementHandler(work, async () => {}, { concurrency: 5 }),
      implementHandler(fail, async () => Promise.reject(new TypeError('no')), { concurrency: 5 }),
    ],
    logger: { ...console, fatal() {}, trace() {}, warn() {}, info() {}, debug() {} } as never,
  })
  await worker.start()
})
afterAll(async () => {
  await worker?.stop({ drainSec: 1 })
  await database?.end()
  await sql?.end()
  await node?.[Symbol.asyncDispose]()
})

describe('stats', () => {
  it('tell what happened to executions, in all, by pool and by handler', async () => {
    for (let i = 0; i < 3; i++) await submit('acme', 'work')
    await submit('acme', 'fail', { retryPolicy: { maxAttempts: 2, initialDelayMs: 1 } })
    await until(async () => (await stats('acme')).total.dead === 1 && (await stats('acme')).total.succeeded === 3)
    const answer = await stats('acme')
    const figures = { created: 4, started: 5, succeeded: 3, failed: 2, retried: 1, dead: 1, cancelled: 0, skipped: 0 }
    expect(answer.total).toMatchObject({
      ...figures,
      pickUp: { count: 4 },
      duration: { count: 5 },
      lateness: { count: 0 },
    })
    expect(answer.total.duration.p50Ms).toBeLessThanOrEqual(answer.total.duration.maxMs)
    expect(answer.total.lateness.p99Ms).toBeNull()
    expect(answer.pools).toMatchObject([{ pool: 'stats', ...figures }])
    expect(answer.handlers).toMatchObject([
      { handler: 'work', created: 3, started: 3, succeeded: 3, failed: 0, retried: 0, dead: 0 },
      { handler: 'fail', created: 1, started: 2, succeeded: 0, failed: 2, retried: 1, dead: 1 },
    ])
    const sum = (name: string) =>
      answer.buckets.reduce((total: number, bucket: Record<string, number>) => total + bucket[name]!, 0)
    expect(sum('created')).toBe(4)
    expect(sum('succeeded')).toBe(3)
    const one = await stats('acme', '?handler=fail&pool=stats')
    expect(one.total).toMatchObject({ created: 1, failed: 2, dead: 1 })
    expect(one.handlers).toMatchObject([{ handler: 'fail', dead: 1 }])
    expect((await stats('acme', '?pool=elsewhere')).total.created).toBe(0)
  })

  it('are each tenant’s own', async () => {
    await submit('beta', 'work')
    await until(async () => (await stats('beta')).total.succeeded === 1)
    expect((await stats('beta')).handlers).toMatchObject([{ handler: 'work', created: 1 }])
    expect((await stats('nobody')).total.created).toBe(0)
    expect(JSON.stringify(await stats('nobody'))).not.toMatch(/work|stats/)
  })

  it('of schedules have lateness and how many were on time', async () => {
    const job = { name: 'tick', type: 'INTERVAL', interval: 'PT1S', target: { pool: 'stats', handler: 'work' } }
    const { jobId } = (await node.ask('POST /v1/jobs', job, ofTenant('clock'))).body
    await until(async () => (await stats('clock')).total.lateness.count > 0)
    await node.ask(`DELETE /v1/jobs/${jobId}`, undefined, ofTenant('clock'))
    const { lateness, created } = (await stats('clock')).total
    expect(created).toBeGreaterThanOrEqual(lateness.count)
    expect(lateness.p50Ms).toBeGreaterThanOrEqual(0)
  })

  it('go back 48 hours by minute and 30 days by hour, and no further', async () => {
    const days = (count: number) => new Date(monotonicMs() - count * 24 * hourMs).toISOString()
    const refused = await node.ask(`GET /v1/stats?from=${days(3)}`)
    expect(refused).toMatchObject({ status: 422, body: { code: 'TIME_OUT_OF_RANGE' } })
    expect(refused.body.errors[0].hint).toContain('step=HOUR')
    expect((await node.ask(`GET /v1/stats?step=HOUR&from=${days(3)}`)).status).toBe(200)
    expect((await node.ask(`GET /v1/stats?step=HOUR&from=${days(40)}`)).body.code).toBe('TIME_OUT_OF_RANGE')
    expect((await node.ask(`GET /v1/stats?from=${days(-1)}`)).status).toBe(422)
  })
})

describe('hours and days', () => {
  const hour = Math.floor(monotonicMs() / hourMs) * hourMs - 5 * hourMs

  function tallyOf(count: number, ms: number): Tally {
    const tally = new Tally()
    tally.created += count
    tally.started += count
    for (let i = 0; i < count; i++) tally.duration.measure(ms)
    return tally
  }

  it('are the sums of minutes of all nodes, and stay the same however often they are added up', async () => {
    const nodes = ['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002']
    for (const [i, nodeId] of nodes.entries()) {
      for (const at of [hour, hour + minuteMs]) {
        const key = { tenant: 'sums', at, pool: 'p' }
        const rows = ['a', 'b'].map((handler) => ({ ...key, handler, figures: tallyOf(10, 10 ** (i + 1)).stored() }))
        const total = { ...key, pool: '', handler: '', figures: tallyOf(20, 10 ** (i + 1)).stored() }
        await writeStats(database, { step: 'MINUTE', nodeId, rows: [...rows, total] })
      }
    }
    const roller = new StatsRoller({ database, clock: { now: monotonicMs } })
    await sql.query('delete from carillon.stats_rolled')
    for (let i = 0; i < 2; i++) await roller.runOnce()
    const from = new Date(hour - hourMs).toISOString()
    const answer = await stats('sums', `?step=HOUR&from=${from}`)
    expect(answer.buckets).toMatchObject([{ at: new Date(hour).toISOString(), created: 80, started: 80 }])
    expect(answer.total.duration).toMatchObject({ count: 80, maxMs: 100, meanMs: 55 })
    expect(Math.abs(answer.total.duration.p50Ms / 10 - 1)).toBeLessThan(0.1)
    expect(Math.abs(answer.total.duration.p99Ms / 100 - 1)).toBeLessThan(0.1)
    expect(answer.handlers).toMatchObject([{ created: 40 }, { created: 40 }])
    expect(answer.pools).toMatchObject([{ pool: 'p', created: 80, duration: { count: 80 } }])
    const { rows } = await sql.query(
      `select step, handler, get_byte(figures, 0) created from carillon.stats where tenant = 'sums' and step <> 'MINUTE' and handler = 'a'`,
    )
    expect(rows).toContainEqual({ step: 'DAY', handler: 'a', created: 40 })
    const byMinute = await stats('sums', `?from=${from}`)
    expect(byMinute.total.created).toBe(80)
    expect(byMinute.handlers).toMatchObject([{ created: 40 }, { created: 40 }])
  })

  it('and minutes are dropped when they are too old to be asked for', async () => {
    const long = { MINUTE: 50 * hourMs, HOUR: 32 * 24 * hourMs, DAY: 33 * 24 * hourMs }
    for (const [step, ms] of Object.entries(long)) {
      const at = Math.floor((monotonicMs() - ms) / hourMs) * hourMs
      const row = { tenant: 'old', at, pool: 'p', handler: 'h', figures: tallyOf(1, 1).stored() }
      await writeStats(database, { step: step as keyof typeof long, nodeId: null, rows: [row] })
    }
    await new StatsRoller({ database, clock: { now: monotonicMs } }).runOnce()
    const { rows } = await sql.query(`select step from carillon.stats where tenant = 'old'`)
    expect(rows).toEqual([])
  })
})
