/**
 * Bodies that are wrong a hundred thousand times over. To find and tell it all would hold up the node for seconds and fill
 * its memory; what is small is still told everything at once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Guarded, guarded, oneShot, type Requester } from './tenants.ts'

let on: Guarded
let ask: Requester

beforeAll(async () => {
  on = await guarded()
  ask = await on.tenant('acme')
})
afterAll(() => on?.[Symbol.asyncDispose]())

const unknowns = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`unknown${i}`, 0]))

describe('a large body that is wrong', () => {
  it('is told the first thing; a small one everything', async () => {
    const small = await ask('POST /v1/jobs', { ...oneShot, ...unknowns(20) })
    expect(small.status).toBe(422)
    expect(small.body.errors).toHaveLength(20)
    const large = await ask('POST /v1/jobs', { ...oneShot, ...unknowns(20_000) })
    expect(large.status).toBe(422)
    expect(large.body.errors).toMatchObject([
      { message: 'unknown0 is not known', hint: expect.stringContaining('Known are') },
    ])
  })

  it('of somebody without a token too', async () => {
    const path = 'POST /v1/executions/00000000-0000-8000-8000-000000000000/complete'
    const { status, body } = await on.node.ask(path, unknowns(20_000))
    expect([status, body.errors.length]).toEqual([422, 1])
  })

  it('of a worker: a million values that are no executions', async () => {
    const pools = [{ pool: 'acme-pool', handlers: ['h'], slots: 1 }]
    const { workerId } = (await ask('POST /v1/workers', { name: 'w', pools })).body
    for (const field of ['held', 'outcomes', 'began', 'progress']) {
      const { status, body } = await ask(
        `POST /v1/workers/${workerId}/report`,
        `{"${field}":[${'1,'.repeat(900_000)}1]}`,
      )
      expect([field, status, body.errors.length]).toEqual([field, 422, 1])
    }
    const tooLarge = await ask(`POST /v1/workers/${workerId}/report`, `{"held":[${'1,'.repeat(9_000_000)}1]}`)
    expect([tooLarge.status, tooLarge.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
  })

  it('of nothing but brackets', async () => {
    const nested = '['.repeat(200_000) + ']'.repeat(200_000)
    for (const field of ['payload', 'target']) {
      const { status, body } = await ask(
        'POST /v1/jobs',
        `{"type":"ONE_SHOT","${field}":${nested},"target":{"handler":"h"}}`,
      )
      expect([status, body.code]).toEqual([422, 'VALIDATION'])
    }
    expect((await ask('POST /v1/jobs', '['.repeat(400_000))).body.code).toBe('VALIDATION')
  })
})

describe('a batch of which everything is wrong', () => {
  const jobs = Array.from({ length: 2_000 }, () => unknowns(50))

  it('is answered in bounded length, each item with its problem', async () => {
    const { status, body } = await ask('POST /v1/jobs/batch', { jobs, partial: true })
    expect(status).toBe(201)
    expect(body.items).toHaveLength(2_000)
    expect(body.items[0].error.errors.length).toBeGreaterThan(40)
    expect(body.items[1_999].error.errors).toEqual([{ pointer: expect.any(String), message: expect.any(String) }])
    expect(JSON.stringify(body).length).toBeLessThan(2_000_000)
  })

  it('is refused in bounded length', async () => {
    const { status, body } = await ask('POST /v1/jobs/batch', { jobs })
    expect(status).toBe(422)
    expect(body.errors.length).toBeLessThanOrEqual(1_001)
  })
})

it('a name that is like many pools is told a few of them', async () => {
  // As many as a tenant may have, but for those of other tests here.
  const names = Array.from({ length: 90 }, (_, i) => `${String(i).padStart(4, '0')}${'x'.repeat(190)}`)
  const pools = names.map((pool) => ({ pool, handlers: [], slots: 1 }))
  expect((await ask('POST /v1/workers', { name: 'w', pools })).status).toBe(201)
  const { body } = await ask('POST /v1/jobs', { ...oneShot, target: { handler: 'h', pool: `zzzz${'x'.repeat(190)}` } })
  expect(body.code).toBe('POOL_UNKNOWN')
  expect(body.errors[0].hint.split(' or ')).toHaveLength(5)
})
