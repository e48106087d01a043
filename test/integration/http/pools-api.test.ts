/** Pools: listed, created, paused, resumed and measured, each by whom they belong to. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { jwtSecret, token } from './auth-server.ts'
import { HandWorker, Ledger } from './hand-worker.ts'

let node: HttpNode
let ledger: Ledger
let platform: Record<string, string>
let acme: Record<string, string>

async function tokenOf(tenant: string): Promise<Record<string, string>> {
  return { authorization: `Bearer ${await token({ tenant, scope: 'jobs:read work admin' })}` }
}

beforeAll(async () => {
  // Without hints a resumed pool would be looked at once in a minute.
  const engine = { ...quickTimes, pollMs: 60_000, windowMs: 60_000, workerLostMs: 30_000 }
  node = await httpNode({ auth: { jwtSecret }, engine })
  ledger = new Ledger(node)
  platform = await tokenOf('*')
  acme = await tokenOf('acme')
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const nameOf = ({ name }: { name: string }) => name
const audited = async (subject: string) =>
  (
    await ledger.sql.query('select tenant, actor, action from carillon.audit where subject = $1 order by audit_id', [
      subject,
    ])
  ).rows

describe('a pool', () => {
  it('is created once, by whom it belongs to', async () => {
    const pool = { name: 'mail', tenant: 'acme', paused: false, workers: 0, slots: 0 }
    expect(await node.ask('POST /v1/pools', { name: 'mail' }, acme)).toMatchObject({ status: 201, body: pool })
    expect(await node.ask('POST /v1/pools', { name: 'mail' }, acme)).toMatchObject({ status: 200, body: pool })
    expect(codeOf(await node.ask('POST /v1/pools', { name: 'default' }, acme))).toEqual([403, 'POOL_NOT_YOURS'])
    expect(await audited('mail')).toEqual([{ tenant: 'acme', actor: expect.any(String), action: 'pool.created' }])
  })

  it.each(['', 'carillon.own', 'a\nb', 'x'.repeat(201)])('cannot be called %j', async (name) => {
    const answer = await node.ask('POST /v1/pools', { name }, platform)
    expect([...codeOf(answer), answer.body.errors[0].pointer]).toEqual([422, 'VALIDATION', '/name'])
  })

  it('is listed with the live workers that serve it', async () => {
    const worker = await HandWorker.register(node.url, { pools: ['mail'], headers: acme })
    const listed = async (headers: Record<string, string>) =>
      (await node.ask('GET /v1/pools', undefined, headers)).body.items.filter(
        (p: { name: string }) => !p.name.startsWith('carillon.'),
      )
    const mail = { name: 'mail', tenant: 'acme', paused: false, workers: 1, slots: 10 }
    const standard = { name: 'default', tenant: null, paused: false, workers: 0, slots: 0 }
    expect(await listed(acme)).toEqual([mail, standard])
    expect(await listed(platform)).toEqual([mail, standard])
    expect(await listed(await tokenOf('beta'))).toEqual([standard])
    await ledger.sql.query(`update carillon.workers set seen_at = now() - interval '20 s' where worker_id = $1`, [
      worker.workerId,
    ])
    expect(await listed(acme)).toEqual([{ ...mail, workers: 0, slots: 0 }, standard])
    await worker.leave()
  })

  it('is found on one page or another, whatever its name', async () => {
    const names = ['ö', '😀'.repeat(200), 'a/b?c', '%00', ' ']
    for (const name of names) await node.ask('POST /v1/pools', { name }, platform)
    const { body: all } = await node.ask('GET /v1/pools?limit=1000', undefined, platform)
    expect(all.items.map(nameOf)).toEqual(expect.arrayContaining(names))
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await node.ask(`GET /v1/pools?limit=1${cursor && `&cursor=${cursor}`}`, undefined, platform)
      seen.push(...body.items.map(nameOf))
      cursor = body.nextCursor
    }
    expect(seen).toEqual(all.items.map(nameOf))
    for (const bad of ['AAAA', '_w']) {
      expect(codeOf(await node.ask(`GET /v1/pools?cursor=${bad}`, undefined, platform))).toEqual([422, 'VALIDATION'])
    }
    for (const name of names) {
      const answer = await node.ask(`GET /v1/pools/${encodeURIComponent(name)}/scaling`, undefined, platform)
      expect([answer.status, answer.body.name]).toEqual([200, name])
    }
  })

  it('that is paused gives nothing out, and when it is resumed gives at once', async () => {
    const second = await node.another()
    const worker = (await HandWorker.register(node.url, { pools: ['mail'], headers: acme })).at(second.url)
    expect(await node.ask('POST /v1/pools/mail/pause', undefined, acme)).toMatchObject({ body: { paused: true } })
    expect(await node.ask('POST /v1/pools/mail/pause', undefined, acme)).toMatchObject({ body: { paused: true } })
    const [executionId] = await ledger.enqueue({ pool: 'mail', tenant: 'acme' })
    await until(async () => (await ledger.sql.query('select from carillon.ready')).rowCount === 1)
    expect((await worker.lease({ pool: 'mail', waitMs: 0 })).body.executions).toEqual([])
    const waiting = worker.lease({ pool: 'mail', waitMs: 60_000 })
    const resumed = await node.ask('POST /v1/pools/mail/resume', undefined, acme)
    expect(resumed).toMatchObject({ status: 200, body: { name: 'mail', paused: false } })
    const [held] = (await waiting).body.executions
    expect(held).toMatchObject({ executionId })
    await worker.succeed(held)
    expect((await audited('mail')).map((row) => row.action)).toEqual(['pool.created', 'pool.paused', 'pool.resumed'])
    await worker.leave()
    await second.stop()
  })

  it('is its owner’s to pause, or the operator’s', async () => {
    const beta = await tokenOf('beta')
    expect(codeOf(await node.ask('POST /v1/pools/default/pause', undefined, acme))).toEqual([403, 'POOL_NOT_YOURS'])
    expect(codeOf(await node.ask('POST /v1/pools/mail/pause', undefined, beta))).toEqual([404, 'POOL_NOT_FOUND'])
    expect(codeOf(await node.ask('POST /v1/pools/none/resume', undefined, platform))).toEqual([404, 'POOL_NOT_FOUND'])
    const asAcme = { ...platform, 'carillon-tenant': 'acme' }
    expect((await node.ask('POST /v1/pools/mail/pause', undefined, asAcme)).body.paused).toBe(true)
    expect((await node.ask('POST /v1/pools/mail/resume', undefined, asAcme)).body.paused).toBe(false)
  })

  it('says what an autoscaler needs', async () => {
    const headers = platform
    const scaling = async () => (await node.ask('GET /v1/pools/scaled/scaling', undefined, headers)).body
    const worker = await HandWorker.register(node.url, { pools: ['scaled', 'beside'], headers })
    const single = await HandWorker.register(node.url, { pools: ['scaled'], headers })
    expect(await scaling()).toEqual({
      ...{ name: 'scaled', ready: 0, running: 0, workers: 2, slots: 20, oldestReadyMs: null, desiredSlots: 0 },
    })
    await ledger.enqueue({ pool: 'beside', times: 3 })
    await ledger.enqueue({ pool: 'scaled', times: 30 })
    await until(async () => (await scaling()).ready === 30)
    const held = (await worker.lease({ pool: 'scaled', slots: 10 })).body.executions
    held.push(...(await single.lease({ pool: 'scaled', slots: 2 })).body.executions)
    await worker.lease({ pool: 'beside', slots: 3 })
    expect(held).toHaveLength(12)
    const now = await scaling()
    expect(now).toMatchObject({ ready: 18, running: 12, desiredSlots: 30 })
    expect(now.oldestReadyMs).toBeGreaterThanOrEqual(0)
    expect(now.oldestReadyMs).toBeLessThan(60_000)
    expect(codeOf(await node.ask('GET /v1/pools/mail/scaling', undefined, await tokenOf('beta')))).toEqual([
      404,
      'POOL_NOT_FOUND',
    ])
    await worker.leave()
    await single.leave()
  })
})
