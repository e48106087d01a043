/** Whose workers and pools are whose: a tenant's worker serves its tenant's pools and touches nobody else's work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'
import { HandWorker, keyOf, Ledger } from './hand-worker.ts'

let node: HttpNode
let ledger: Ledger
const as: Record<'platform' | 'acme' | 'beta', Record<string, string>> = { platform: {}, acme: {}, beta: {} }

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret }, engine: { ...quickTimes, workerLostMs: 30_000 } })
  ledger = new Ledger(node)
  for (const [who, tenant] of [['platform', '*'] as const, ['acme', 'acme'] as const, ['beta', 'beta'] as const]) {
    const bearer = await token({ tenant, scope: 'jobs:read work' })
    as[who] = { authorization: `Bearer ${bearer}` }
  }
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

const announcement = (...pools: string[]) => ({
  name: 'w',
  pools: pools.map((pool) => ({ pool, handlers: ['h'], slots: 2 })),
})
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]
const owners = async () => {
  const { rows } = await ledger.sql.query(`select pool, tenant from carillon.pools where pool !~ '^carillon'`)
  return Object.fromEntries(rows.map((row) => [row.pool, row.tenant]))
}

describe('a tenant’s worker', () => {
  it('brings pools of its tenant; the platform’s brings the installation’s', async () => {
    await HandWorker.register(node.url, { pools: ['acme-etl'], headers: as.acme })
    await HandWorker.register(node.url, { pools: ['shared'], headers: as.platform })
    expect(await owners()).toEqual({ default: null, 'acme\u001facme-etl': 'acme', shared: null })
  })

  it('cannot serve the installation’s pools; nothing comes of trying', async () => {
    const before = await owners()
    for (const pool of ['default', 'shared']) {
      const answer = await node.ask('POST /v1/workers', announcement('beta-new', pool), as.beta)
      expect(codeOf(answer)).toEqual([403, 'POOL_NOT_YOURS'])
      expect(answer.body.errors).toMatchObject([
        { pointer: '/pools/1/pool', hint: expect.stringContaining('another name') },
      ])
      expect(JSON.stringify(answer.body)).not.toContain('acme"')
    }
    expect(await owners()).toEqual(before)
  })

  it('cannot take over, lease as, report for or remove another’s worker', async () => {
    const worker = await HandWorker.register(node.url, { pools: ['acme-etl'], headers: as.acme })
    const { workerId } = worker
    await ledger.enqueue({ pool: 'acme-etl', tenant: 'acme' })
    const [held] = (await worker.lease({ pool: 'acme-etl' })).body.executions
    for (const headers of [as.beta, as.platform]) {
      const thief = new HandWorker(node.url, workerId, headers)
      const again = await ask(node.url, 'POST /v1/workers', { ...announcement('beta-own'), workerId }, headers)
      expect(codeOf(again)).toEqual([404, 'WORKER_UNKNOWN'])
      expect(codeOf(await thief.lease({ pool: 'acme-etl' }))).toEqual([404, 'WORKER_UNKNOWN'])
      expect(codeOf(await thief.leave())).toEqual([404, 'WORKER_UNKNOWN'])
      expect(codeOf(await thief.report({ held: [] }))).toEqual([404, 'WORKER_UNKNOWN'])
    }
    expect(Object.keys(await owners()).filter((key) => key.endsWith('beta-own'))).toEqual([])
    expect((await worker.report({ held: [keyOf(held)] })).body.lost).toEqual([])
    expect((await worker.succeed(held)).body.outcomes).toEqual(['ACCEPTED'])
  })

  it('cannot end another tenant’s execution, though it knew id and fence', async () => {
    const worker = await HandWorker.register(node.url, { pools: ['acme-etl'], headers: as.acme })
    const other = await HandWorker.register(node.url, { pools: ['beta-etl'], headers: as.beta })
    const [executionId] = await ledger.enqueue({
      pool: 'acme-etl',
      tenant: 'acme',
      policy: { delivery: 'AT_MOST_ONCE' },
    })
    const [held] = (await worker.lease({ pool: 'acme-etl' })).body.executions.map(keyOf)
    const answer = await other.report({
      ...{ outcomes: [{ ...held, outcome: 'SUCCEEDED' }], began: [held], progress: [{ ...held, progress: 1 }] },
      held: [held],
    })
    expect(answer.body).toMatchObject({ outcomes: ['REFUSED'], began: ['REFUSED'], lost: [held] })
    expect(await ledger.execution(executionId!)).toMatchObject({
      state: null,
      running: { progress: null, began: false },
    })
    expect((await worker.report({ began: [held] })).body.began).toEqual(['ACCEPTED'])
    expect((await worker.succeed(held)).body.outcomes).toEqual(['ACCEPTED'])
  })
})

describe('the lists', () => {
  it('show a tenant its own workers and the platform’s, and of those only pools it may use', async () => {
    const list = async (who: keyof typeof as) =>
      (await node.ask('GET /v1/workers?limit=1000', undefined, as[who])).body.items.map(
        (w: { tenant: string | null; pools: { pool: string }[] }) => [w.tenant, w.pools.map((p) => p.pool).sort()],
      )
    const platform = [null, ['shared']]
    expect(await list('platform')).toContainEqual(platform)
    expect(await list('platform')).toContainEqual(['beta', ['beta-etl']])
    expect(await list('acme')).toContainEqual(platform)
    expect(await list('beta')).toContainEqual([null, ['shared']])
    expect(JSON.stringify(await list('beta'))).not.toContain('acme')
    expect(JSON.stringify(await list('acme'))).not.toContain('beta')
    const hidden = await node.ask('GET /v1/workers?pool=acme-etl', undefined, as.beta)
    expect(hidden.body.items).toEqual([])
  })

  it('say of one worker what it holds, each tenant what is its own', async () => {
    const worker = await HandWorker.register(node.url, { pools: ['crowded'], headers: as.platform })
    const { workerId } = worker
    const read = async (headers: Record<string, string>) => {
      const answer = await node.ask(`GET /v1/workers/${workerId}`, undefined, headers)
      if (answer.status === 200) fitsContract('getWorker', answer)
      return answer
    }
    expect((await read(as.acme)).body).toMatchObject({ workerId, running: 0, held: [], complete: true })
    const own = await ledger.enqueue({ pool: 'crowded', tenant: 'acme', times: 2 })
    const others = await ledger.enqueue({ pool: 'crowded', tenant: 'beta' })
    const leased: { executionId: string; fence: number }[] = []
    while (leased.length < 3) leased.push(...(await worker.lease({ pool: 'crowded', slots: 10 })).body.executions)
    const { body } = await read(as.acme)
    expect(body).toMatchObject({ workerId, name: 'by hand', tenant: null, state: 'LIVE', running: 3, complete: true })
    expect(body.held.map(({ executionId }: { executionId: string }) => executionId).sort()).toEqual([...own].sort())
    const fields = { name: null, handler: 'h', pool: 'crowded', attempt: 1, began: true, leasedAt: expect.any(String) }
    expect(body.held).toMatchObject([fields, fields])
    expect((await read(as.beta)).body.held).toMatchObject([{ executionId: others[0] }])
    await worker.succeed(leased.find(({ executionId }) => executionId === own[0])!)
    expect((await read(as.acme)).body).toMatchObject({ running: 2, held: [{ executionId: own[1] }] })
    const hidden = await HandWorker.register(node.url, { pools: ['acme-etl'], headers: as.acme })
    const elsewhere = await node.ask(`GET /v1/workers/${hidden.workerId}`, undefined, as.beta)
    expect(codeOf(elsewhere)).toEqual([404, 'WORKER_UNKNOWN'])
    await worker.leave()
    expect(codeOf(await read(as.acme))).toEqual([404, 'WORKER_UNKNOWN'])
  })

  it('page through all workers', async () => {
    const { body: all } = await node.ask('GET /v1/workers?limit=1000', undefined, as.platform)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await node.ask(`GET /v1/workers?limit=2${cursor && `&cursor=${cursor}`}`, undefined, as.platform)
      seen.push(...body.items.map((w: { workerId: string }) => w.workerId))
      cursor = body.nextCursor
    }
    expect(seen).toEqual(all.items.map((w: { workerId: string }) => w.workerId))
    expect(codeOf(await node.ask('GET /v1/workers?cursor=abc', undefined, as.platform))).toEqual([422, 'VALIDATION'])
  })
})
