/** What tenants used, by day: added up from what nodes counted, each tenant its own, all for the operator. */
import { createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import { StatsRoller } from '../../../packages/server/src/stats/roller.ts'
import { Tally } from '../../../packages/server/src/stats/tally.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import type { StatsRow } from '../../../packages/server/src/store/stats/figures.ts'
import { writeStats } from '../../../packages/server/src/store/stats/write.ts'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { jwtSecret, token } from './auth-server.ts'

let node: HttpNode
let database: Database
let sql: pg.Pool
let ops: string
const dayMs = 24 * 3_600_000
const today = () => Math.floor(monotonicMs() / dayMs) * dayMs
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const instant = (ms: number) => new Date(ms).toISOString()

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes, auth: { jwtSecret } })
  const url = node.databaseUrl
  database = new Database({ url, maxConnections: 2, statementTimeoutMs: 10_000, applicationName: 'test' })
  sql = new pg.Pool({ connectionString: url, max: 1 })
  ops = await token({ tenant: '*', sub: 'ops', scope: 'jobs:read jobs:write work admin' })
})
afterAll(async () => {
  await database?.end()
  await sql?.end()
  await node?.[Symbol.asyncDispose]()
})

const ask = (what: string, headers = {}) => node.ask(what, undefined, { authorization: `Bearer ${ops}`, ...headers })
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

/** A day of a tenant: 10 successes of a second each in pool `a`; in `b` one dead letter after two attempts of half a second. */
async function writeDay(tenant: string, at: number): Promise<void> {
  const [a, b, all] = [new Tally(), new Tally(), new Tally()]
  a.succeeded = 10
  for (let i = 0; i < 10; i++) a.duration.measure(1_000)
  Object.assign(b, { dead: 1, failed: 2 })
  for (let i = 0; i < 2; i++) b.duration.measure(500)
  for (const part of [a, b]) all.add(part)
  const row = (pool: string, handler: string, tally: Tally): StatsRow => {
    return { tenant, at, pool, handler, figures: tally.stored() }
  }
  const rows = [row('a', 'h', a), row('a', '', a), row('b', 'h', b), row('b', '', b), row('', '', all)]
  await writeStats(database, { step: 'DAY', nodeId: null, rows })
}

const ofA = { ended: 10, succeeded: 10, dead: 0, cancelled: 0, attempts: 10, failed: 0, runMs: 10_000 }
const ofB = { ended: 1, succeeded: 0, dead: 1, cancelled: 0, attempts: 2, failed: 2, runMs: 1_000 }
const ofDay = { ended: 11, succeeded: 10, dead: 1, cancelled: 0, attempts: 12, failed: 2, runMs: 11_000 }

describe('usage', () => {
  it('is what nodes counted, a minute later at most', async () => {
    const bearer = await token({ tenant: 'live', scope: 'jobs:read jobs:write work' })
    const work = defineHandler<unknown>({ name: 'work' })
    const client = createClient({ urls: [node.url], token: bearer })
    const handler = implementHandler(work, async () => {})
    const worker = createWorker({ urls: [node.url], token: ops, handlers: [handler] })
    await worker.start()
    for (const handle of [await client.enqueue(work, 1), await client.enqueue(work, 2)]) await handle.result()
    const roller = new StatsRoller({ database, clock: { now: monotonicMs } })
    await until(async () => {
      await roller.runOnce()
      return (await client.installation.usage()).total.ended === 2
    })
    const usage = await client.installation.usage({ byPool: true })
    expect(usage).toMatchObject({ tenant: 'live', total: { ended: 2, succeeded: 2, attempts: 2, failed: 0, dead: 0 } })
    expect(usage.days).toMatchObject([{ day: dayOf(today()), ended: 2, pools: [{ pool: 'default', ended: 2 }] }])
    expect(Date.parse(usage.until)).toBeLessThan(monotonicMs())
    await worker.stop({ drainSec: 1 })
    await client.close()
  })

  it('is by day, in all, and by pool if asked for', async () => {
    const [one, two] = [today() - 3 * dayMs, today() - dayMs]
    for (const at of [one, two]) await writeDay('acme', at)
    const { body } = await ask('GET /v1/tenants/acme/usage')
    expect(body).toMatchObject({ tenant: 'acme', from: instant(today() - 29 * dayMs), to: instant(today() + dayMs) })
    expect(body.days).toEqual([
      { day: dayOf(one), ...ofDay },
      { day: dayOf(two), ...ofDay },
    ])
    expect(body.total).toEqual({ ...ofDay, ended: 22, succeeded: 20, dead: 2, attempts: 24, failed: 4, runMs: 22_000 })
    const { body: byPool } = await ask(`GET /v1/tenants/acme/usage?byPool=true&from=${instant(two + 5)}`)
    const pools = [
      { pool: 'a', ...ofA },
      { pool: 'b', ...ofB },
    ]
    expect(byPool.days).toEqual([{ day: dayOf(two), ...ofDay, pools }])
    const { body: before } = await ask(`GET /v1/tenants/acme/usage?from=${instant(one)}&to=${instant(two)}`)
    expect(before).toMatchObject({ days: [{ day: dayOf(one) }], until: instant(two) })
  })

  it('is each tenant’s own, and that of all is the operator’s', async () => {
    await writeDay('beta', today())
    const bearer = { authorization: `Bearer ${await token({ tenant: 'beta', scope: 'jobs:read admin' })}` }
    const own = await ask('GET /v1/usage', bearer)
    expect(own).toMatchObject({ status: 200, body: { tenant: 'beta', total: ofDay } })
    expect((await ask('GET /v1/usage', { 'carillon-tenant': 'beta' })).body.days).toEqual(own.body.days)
    for (const what of ['GET /v1/tenants/beta/usage', 'GET /v1/usage/tenants']) {
      expect(codeOf(await ask(what, bearer))).toEqual([403, 'TENANT_NOT_YOURS'])
    }
    const idle = await ask('GET /v1/tenants/nobody/usage')
    expect(idle).toMatchObject({ status: 200, body: { days: [], total: { ended: 0, runMs: 0 } } })
    await writeDay('gone', today() - 200 * dayMs)
    const from = `from=${instant(today() - 3 * dayMs)}`
    const { body: all } = await ask(`GET /v1/usage/tenants?${from}`)
    const names = all.items.map(({ tenant }: { tenant: string }) => tenant)
    expect(names).toEqual(names.toSorted())
    expect(names).toEqual(expect.arrayContaining(['acme', 'beta', 'live']))
    expect(names).not.toContain('gone')
    expect(all.items.find(({ tenant }: { tenant: string }) => tenant === 'acme').total.runMs).toBe(22_000)
    const seen: unknown[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await ask(`GET /v1/usage/tenants?${from}&limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.items.map(({ tenant }: { tenant: string }) => tenant))
      cursor = body.nextCursor
    }
    expect(seen).toEqual(names)
  })

  it('goes back 400 days, by pool 100 at once, and not into the future', async () => {
    const since = (days: number, more = '') =>
      ask(`GET /v1/tenants/acme/usage?from=${instant(today() - days * dayMs)}${more}`)
    expect((await since(400)).status).toBe(200)
    expect(codeOf(await since(402))).toEqual([422, 'TIME_OUT_OF_RANGE'])
    expect(codeOf(await since(-2))).toEqual([422, 'VALIDATION'])
    expect((await since(99, '&byPool=true')).status).toBe(200)
    expect(codeOf(await since(150, '&byPool=true'))).toEqual([422, 'VALIDATION'])
  })

  it('is kept by pool for longer than by handler', async () => {
    const ages = [10, 33, 399, 403]
    for (const age of ages) await writeDay('kept', today() - age * dayMs)
    await new StatsRoller({ database, clock: { now: monotonicMs } }).runOnce()
    const { rows } = await sql.query(
      `select count(*) filter (where handler = '') sums, count(*) filter (where handler <> '') handlers
       from carillon.stats where tenant = 'kept' and step = 'DAY' group by at order by at`,
    )
    expect(rows.map(({ sums, handlers }) => [Number(sums), Number(handlers)])).toEqual([
      [3, 2],
      [3, 0],
      [3, 2],
    ])
  })
})
