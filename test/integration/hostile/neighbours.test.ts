/** Two tenants at one node: neither learns of the other, touches what is the other's, or keeps the other waiting. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import { type Guarded, guarded, oneShot, type Requester, tally } from './tenants.ts'

let on: Guarded
let acme: Requester
let beta: Requester

beforeAll(async () => {
  on = await guarded({ engine: { maxWaiting: 10 } })
  acme = await on.tenant('acme')
  beta = await on.tenant('beta')
})
afterAll(() => on?.[Symbol.asyncDispose]())

const yearly = { type: 'CRON', schedule: '0 0 1 1 *', target: { handler: 'h' } } as const

describe('names that both tenants use', () => {
  it('an Idempotency-Key is another’s request', async () => {
    const header = { 'idempotency-key': 'the same' }
    const first = await acme('POST /v1/jobs', { ...oneShot, name: 'of acme' }, header)
    const second = await beta('POST /v1/jobs', { ...oneShot, name: 'of beta' }, header)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.jobId).not.toBe(first.body.jobId)
    expect((await acme('POST /v1/jobs', { ...oneShot, name: 'of acme' }, header)).body.jobId).toBe(first.body.jobId)
  })

  it('a dedupe key and the key of a job', async () => {
    const inAnHour = { type: 'DELAYED', delayMs: 3_600_000, target: { handler: 'h' } }
    for (const job of [
      { ...inAnHour, dedupe: { key: 'same', onDuplicate: 'REPLACE' } },
      { ...yearly, key: 'same' },
    ]) {
      const first = await acme('POST /v1/jobs', job)
      const second = await beta('POST /v1/jobs', { ...job, priority: 'LOW' })
      expect([first.status, second.status]).toEqual([201, 201])
      expect((await acme(`GET /v1/jobs/${first.body.jobId}`)).body).toMatchObject({ state: 'ACTIVE', version: 1 })
    }
  })
})

describe('what names another’s things', () => {
  it('a filter finds nothing, a cursor leads to one’s own', async () => {
    const job = (await acme('POST /v1/jobs', { ...yearly, key: 'of acme', name: 'secret of acme' })).body
    await acme(`POST /v1/jobs/${job.jobId}/trigger`)
    for (const filter of [{ jobId: job.jobId }, { key: 'of acme' }]) {
      const counted = await beta('POST /v1/executions/cancel', { filter, dryRun: true })
      expect([counted.status, counted.body.count]).toEqual([200, 0])
    }
    for (const list of ['executions', 'jobs']) {
      const { nextCursor } = (await acme(`GET /v1/${list}?limit=1`)).body
      expect(nextCursor).not.toBeNull()
      const { items } = (await beta(`GET /v1/${list}?limit=1000&cursor=${nextCursor}`)).body
      expect(items.filter(({ tenant }: { tenant: string }) => tenant !== 'beta')).toEqual([])
      expect(JSON.stringify(items)).not.toContain('acme')
    }
  })

  it('figures for everybody name nobody', async () => {
    const { body } = await on.node.ask('GET /metrics')
    expect(body).toContain('carillon_http_request_seconds')
    expect(body).not.toMatch(/acme|beta|tenant/)
  })
})

describe('a tenant that asks for too much', () => {
  it('waits for itself; the other does not wait for it', async () => {
    let answered = 0
    const flood = Array.from({ length: 600 }, async () => {
      const { status } = await acme('GET /v1/executions?error=none')
      answered++
      return status
    })
    await until(() => answered > 0)
    const other = await beta('POST /v1/jobs', oneShot)
    expect([other.status, answered < flood.length]).toEqual([201, true])
    expect(tally(await Promise.all(flood))).toEqual({ 200: flood.length })
  })

  it('cannot take all the places of workers that wait', async () => {
    const pools = (name: string) =>
      Array.from({ length: 20 }, (_, i) => ({ pool: `${name}-${i}`, handlers: [], slots: 1 }))
    const { workerId } = (await acme('POST /v1/workers', { name: 'greedy', pools: pools('acme') })).body
    const lease = (i: number) =>
      acme(`POST /v1/workers/${workerId}/lease`, { pool: `acme-${i}`, slots: 1, waitMs: 60_000 })
    let refused = 0
    const open = Array.from({ length: 20 }, async (_, i) => {
      const { status, body } = await lease(i)
      if (status === 503) refused++
      return `${status} ${body.code ?? ''}`
    })
    await until(() => refused === 15)
    const other = (await beta('POST /v1/workers', { name: 'modest', pools: pools('beta') })).body.workerId
    const { status } = await beta(`POST /v1/workers/${other}/lease`, { pool: 'beta-0', slots: 1, waitMs: 10 })
    expect(status).toBe(200)
    await acme(`DELETE /v1/workers/${workerId}`)
    expect(tally(await Promise.all(open))).toEqual({ '200 ': 5, '503 TOO_MANY_WAITING': 15 })
  })

  it('has a limited number of operations under way', async () => {
    await acme('POST /v1/jobs/batch', { jobs: Array.from({ length: 30 }, () => ({ ...oneShot, name: 'many' })) })
    const slowly = { filter: { state: 'PENDING' }, ratePerSec: 0.1 }
    const begun = []
    for (let i = 0; i < 20; i++) begun.push(await acme('POST /v1/executions/cancel', slowly))
    expect(tally(begun.map(({ status }) => status))).toEqual({ 202: 20 })
    const refused = await acme('POST /v1/executions/cancel', slowly)
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect((await beta('POST /v1/executions/cancel', { filter: {} })).status).toBe(202)
    await acme(`POST /v1/operations/${begun[0]!.body.operationId}/cancel`)
    expect((await acme('POST /v1/executions/cancel', slowly)).status).toBe(202)
  })
})
