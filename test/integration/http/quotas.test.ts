/** Quotas of tenants, as the operator declares them. */
import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testCarillon } from '../../support/carillon.ts'
import { type Asked, ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { jwtSecret, token } from './auth-server.ts'

const scope = 'jobs:read jobs:write work admin metrics:read'
const as = async (tenant: string) => ({ authorization: `Bearer ${await token({ tenant, scope })}` })
const target = { handler: 'h' }
const daily = { type: 'CRON', schedule: '0 3 * * *', target }
const now = { type: 'ONE_SHOT', target }
const later = { type: 'DELAYED', delayMs: 3_600_000, target }

let node: HttpNode
let sql: pg.Client
let platform: Record<string, string>

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret } })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  platform = await as('*')
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const declare = (tenant: string, quotas: object) => node.ask(`PUT /v1/tenants/${tenant}`, quotas, platform)
const codeOf = ({ status, body }: Asked) => [status, body.code]
const exceeded = [429, 'QUOTA_EXCEEDED']
const refusals = async (quota: string) => {
  const { body } = await node.ask('GET /metrics', undefined, platform)
  return Number(new RegExp(`^carillon_quota_refusals_total\\{quota="${quota}"\\} (\\d+)`, 'm').exec(body)?.[1] ?? 0)
}
const atRest = async (tenant: string) => {
  const { rows } = await sql.query(
    `select count(*)::int n from carillon.jobs where tenant = $1 and state in ('ACTIVE', 'PAUSED')`,
    [tenant],
  )
  return rows[0].n
}

describe('quotas', () => {
  it('are declared, shown, taken back and audited', async () => {
    const quotas = {
      ...{ maxJobs: 10, submissionsPerSec: 5, maxPools: 2, maxWorkers: 3, maxIdempotencyKeys: 4, maxEventStreams: 0 },
    }
    expect(await declare('shown', { weight: 2, ...quotas })).toMatchObject({ status: 201, body: quotas })
    expect(await declare('shown', { weight: 2, ...quotas })).toMatchObject({ status: 200, body: { version: 1 } })
    const { body } = await declare('shown', { weight: 2, maxJobs: 11, maxPools: null })
    expect(body).toMatchObject({ version: 2, maxJobs: 11, submissionsPerSec: null, maxPools: null, maxWorkers: null })
    const { rows } = await sql.query(`select detail from carillon.audit where subject = 'shown' order by audit_id`)
    expect(rows.map(({ detail }) => detail)).toEqual([
      { weight: 2, description: null, ...quotas },
      { weight: 2, description: null, maxJobs: 11, before: { weight: 2, description: null, ...quotas } },
    ])
  })

  it.each([
    [{ maxJobs: -1 }, '/maxJobs'],
    [{ maxJobs: 1.5 }, '/maxJobs'],
    [{ maxWorkers: '3' }, '/maxWorkers'],
    [{ submissionsPerSec: 0 }, '/submissionsPerSec'],
    [{ maxPools: 1_000_000_001 }, '/maxPools'],
  ])('cannot be %j', async (body, pointer) => {
    const answer = await declare('bad', body)
    expect([...codeOf(answer), answer.body.errors[0].pointer]).toEqual([422, 'VALIDATION', pointer])
  })

  it('have names, and a near one is named', async () => {
    const { body } = await declare('bad', { maxJob: 1 })
    expect(body.errors[0].hint).toContain('maxJobs')
  })
})

describe('maxJobs', () => {
  it('bounds what is at rest, and not what is due now', async () => {
    await declare('bounded', { maxJobs: 2 })
    const acme = await as('bounded')
    const create = (body: object, headers = {}) => node.ask('POST /v1/jobs', body, { ...acme, ...headers })
    const { body: first } = await create({ ...daily, key: 'first' }, { 'idempotency-key': 'a' })
    expect((await create(later)).status).toBe(201)
    const before = await refusals('maxJobs')
    const refused = await create(daily, { 'idempotency-key': 'b' })
    expect(codeOf(refused)).toEqual(exceeded)
    expect(refused.body.detail).toBe(
      'maxJobs: the tenant may have 2 jobs at rest (Delete jobs that are not needed, or ask the operator to raise maxJobs)',
    )
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(await refusals('maxJobs')).toBe(before + 1)
    // What is due now, what exists, and what was answered before.
    expect((await create(now)).status).toBe(201)
    expect((await create({ ...daily, key: 'first', name: 'other' })).status).toBe(200)
    expect(await create({ ...daily, key: 'first' }, { 'idempotency-key': 'a' })).toMatchObject({
      status: 200,
      body: { jobId: first.jobId },
    })
    // A batch is refused as a whole.
    const batch = await node.ask('POST /v1/jobs/batch', { jobs: [now, later], partial: true }, acme)
    expect(codeOf(batch)).toEqual(exceeded)

    await node.ask(`POST /v1/jobs/${first.jobId}/pause`, undefined, acme)
    expect(codeOf(await create(daily))).toEqual(exceeded)
    await node.ask(`DELETE /v1/jobs/${first.jobId}`, undefined, acme)
    // The key of a request that was refused is free.
    expect((await create(daily, { 'idempotency-key': 'b' })).status).toBe(201)
    expect(codeOf(await create(daily))).toEqual(exceeded)
    await declare('bounded', { maxJobs: 3 })
    expect((await create(daily)).status).toBe(201)
    await declare('bounded', {})
    expect((await create(daily)).status).toBe(201)
  })

  it('lets the holder of a dedupe key be replaced, which is not one more', async () => {
    await declare('replacing', { maxJobs: 1 })
    const acme = await as('replacing')
    const create = (dedupe: object) => node.ask('POST /v1/jobs', { ...later, dedupe }, acme)
    for (let i = 0; i < 3; i++) {
      const { status, body } = await create({ key: 'k', onDuplicate: 'REPLACE' })
      expect([status, body.dedupe?.verdict]).toEqual([201, i === 0 ? 'NEW' : 'REPLACED'])
    }
    expect(codeOf(await create({ key: 'other' }))).toEqual(exceeded)
    expect((await create({ key: 'k' })).status).toBe(200)
    expect(await atRest('replacing')).toBe(1)
  })

  it('bounds jobs that come back after their last occurrence', async () => {
    const acme = await as('back')
    const once = { type: 'INTERVAL', interval: 'PT1S', maxFires: 1, target, key: 'once' }
    const { body: job } = await node.ask('POST /v1/jobs', once, acme)
    await until(async () => (await node.ask('GET /v1/jobs/once', undefined, acme)).body.state === 'COMPLETED')
    await declare('back', { maxJobs: 0 })
    const again = () => node.ask(`PUT /v1/jobs/${job.jobId}`, { ...once, maxFires: 2, interval: 'PT1H' }, acme)
    expect(codeOf(await again())).toEqual(exceeded)
    await declare('back', { maxJobs: 1 })
    expect(await again()).toMatchObject({ status: 200, body: { state: 'ACTIVE' } })
  })

  it.each(['counted each time', 'counted before'])(
    'holds exactly, with two nodes that create at once: %s',
    async (how) => {
      const tenant = `raced ${how}`
      const [other, acme] = [await node.another(), await as(tenant)]
      await declare(encodeURIComponent(tenant), { maxJobs: 25 })
      await node.ask('POST /v1/jobs', daily, acme)
      if (how === 'counted before')
        await sql.query(`update carillon.job_counts set since = since - interval '1 hour' where tenant = $1`, [tenant])
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => [
          ask(i % 2 === 0 ? node.url : other.url, 'POST /v1/jobs', daily, acme),
          ask(i % 2 === 1 ? node.url : other.url, 'POST /v1/jobs/batch', { jobs: [daily, later, now] }, acme),
        ]).flat(),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 429]))
      expect(await atRest(tenant)).toBeGreaterThanOrEqual(24)
      await Promise.all(
        Array.from({ length: 4 }, (_, i) => ask([node.url, other.url][i % 2]!, 'POST /v1/jobs', daily, acme)),
      )
      expect(await atRest(tenant)).toBe(25)
      // One that goes makes room for one.
      const { body: listed } = await node.ask('GET /v1/jobs?limit=1', undefined, acme)
      await node.ask(`DELETE /v1/jobs/${listed.items[0].jobId}`, undefined, acme)
      const [a, b] = await Promise.all([node.url, other.url].map((url) => ask(url, 'POST /v1/jobs', daily, acme)))
      expect([a!.status, b!.status].sort()).toEqual([201, 429])
      expect(await atRest(tenant)).toBe(25)
    },
  )

  it('is not exceeded by what SQL enqueues for later, and no caller waits', async () => {
    await declare('insql', { maxJobs: 1 })
    const enqueue = (at: string) => sql.query(`select carillon.enqueue('h', tenant => 'insql', run_at => ${at})`)
    await enqueue(`now() + interval '1 hour'`)
    await node.ask('POST /v1/jobs', daily, await as('insql'))
    await expect(enqueue(`now() + interval '1 hour'`)).rejects.toMatchObject({
      code: 'CA002',
      hint: expect.stringContaining('maxJobs'),
      detail: '{"limit": 1, "quota": "maxJobs"}',
    })
    await enqueue('null')
    await declare('insql', { maxJobs: 2 })
    await sql.query('begin')
    const ids: string[] = []
    for (const key of ['a', 'b']) {
      const { rows } = await sql.query(
        `select carillon.enqueue('h', tenant => 'insql', run_at => now() + interval '1 hour', dedupe => $1) id`,
        [{ key }],
      )
      ids.push(rows[0].id)
    }
    await sql.query('commit')
    const verdicts = async () =>
      (await sql.query('select e.* from unnest($1::uuid[]) id, carillon.enqueued(id) e order by verdict', [ids])).rows
    await until(async () => (await verdicts()).length === 2)
    expect(await verdicts()).toMatchObject([
      { verdict: 'NEW' },
      { verdict: 'REFUSED', error: expect.stringContaining('maxJobs') },
    ])
    const holder = new pg.Client(node.databaseUrl)
    await holder.connect()
    try {
      await declare('insql', { maxJobs: 3 })
      await holder.query('begin')
      await holder.query(`select carillon.take_job_room('insql', 1)`)
      await sql.query(`set lock_timeout = '1s'`)
      await enqueue(`now() + interval '1 hour'`)
    } finally {
      await holder.end()
      await sql.query('reset lock_timeout')
    }
  })
})

describe('submissionsPerSec', () => {
  it('counts every item of a batch, and no repeat; Retry-After is true', async () => {
    await declare('paced', { submissionsPerSec: 1 })
    const acme = await as('paced')
    await until(async () => (await node.ask('POST /v1/jobs', now, acme)).status === 429)
    const refused = await node.ask('POST /v1/jobs', now, { ...acme, 'idempotency-key': 'k' })
    expect(codeOf(refused)).toEqual(exceeded)
    expect(refused.body.detail).toContain('submissionsPerSec: the tenant may submit 1 items per second')
    expect(refused.headers.get('retry-after')).toBe('1')
    await until(async () => (await node.ask('POST /v1/jobs', now, { ...acme, 'idempotency-key': 'k' })).status === 201)
    // Repeats are answered, however often.
    for (let i = 0; i < 5; i++) {
      const again = await node.ask('POST /v1/jobs', now, { ...acme, 'idempotency-key': 'k' })
      expect(again.status).toBe(200)
    }
    await declare('paced', { submissionsPerSec: 10 })
    const jobs = Array.from({ length: 100 }, () => now)
    await until(async () => (await node.ask('POST /v1/jobs/batch', { jobs }, acme)).status === 201)
    const after = await node.ask('POST /v1/jobs', now, acme)
    expect(codeOf(after)).toEqual(exceeded)
    expect(Number(after.headers.get('retry-after'))).toBeGreaterThanOrEqual(9)
    expect(codeOf(await node.ask('POST /v1/dag-runs', { steps: [{ name: 'a', target }] }, acme))).toEqual(exceeded)
    // Others are not affected, and neither is the tenant once the quota is gone.
    expect((await node.ask('POST /v1/jobs', now, await as('unpaced'))).status).toBe(201)
    await declare('paced', {})
    await until(async () => (await node.ask('POST /v1/jobs', now, acme)).status === 201)
  })

  it('holds over three nodes together', async () => {
    const rate = 20
    await declare('spread', { submissionsPerSec: rate })
    // They read it when they start.
    const urls = [node.url, (await node.another()).url, (await node.another()).url]
    const acme = await as('spread')
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => node.ask('POST /v1/jobs', now, acme)))
      return answers.some(({ status }) => status === 429)
    })
    const began = performance.now()
    let taken = 0
    const client = async (url: string) => {
      while (performance.now() < began + 2_000) if ((await ask(url, 'POST /v1/jobs', now, acme)).status === 201) taken++
    }
    await Promise.all([...urls, ...urls].map(client))
    const grown = (rate * (performance.now() - began)) / 1_000
    // At most what a tenant that was idle has, and a slice for each node. At least half: a busy machine may not ask often enough.
    expect(taken).toBeLessThanOrEqual(grown + rate / 4 + urls.length * (rate / 20))
    expect(taken).toBeGreaterThan(grown * 0.5)
  })

  it('gives back what was refused or was nothing new', async () => {
    await declare('fair', { submissionsPerSec: 4 })
    const acme = await as('fair')
    await until(async () => (await node.ask('POST /v1/jobs', now, acme)).status === 429)
    await until(async () => (await node.ask('POST /v1/jobs', { ...daily, key: 'k' }, acme)).status === 201)
    const statuses = new Set<number>()
    for (let i = 0; i < 30; i++) {
      statuses.add((await node.ask('POST /v1/jobs', { ...daily, key: 'k' }, acme)).status)
      statuses.add((await node.ask('POST /v1/jobs', { ...now, target: { handler: 'h', pool: 'gone' } }, acme)).status)
    }
    // While there is nothing left, these are refused too.
    expect([...statuses].filter((status) => ![200, 422, 429].includes(status))).toEqual([])
  })

  it('library mode throws the same', async () => {
    const work = defineHandler<object>({ name: 'work' })
    await using test = await testCarillon((carillon) => carillon.handle(work, async () => {}))
    const { carillon } = test
    await carillon.tenants.put('default', { submissionsPerSec: 2, maxJobs: 1 })
    const over = { code: 'QUOTA_EXCEEDED', status: 429, retryAfterMs: expect.any(Number) }
    await until(async () => {
      try {
        await carillon.enqueueMany(work, [{}, {}, {}, {}, {}, {}, {}, {}])
        return false
      } catch (error) {
        expect(error).toMatchObject(over)
        return true
      }
    })
    await expect(carillon.enqueue(work, {})).rejects.toMatchObject(over)
    await carillon.tenants.put('default', { maxJobs: 1 })
    await until(() =>
      carillon.schedule(work, {}, { every: 'PT1H' }).then(
        () => true,
        () => false,
      ),
    )
    await expect(carillon.schedule(work, {}, { every: 'PT1H' })).rejects.toMatchObject(over)
  })
})

it('maxPools overrides what the installation allows', async () => {
  const acme = await as('pooled')
  await declare('pooled', { maxPools: 1 })
  expect((await node.ask('POST /v1/pools', { name: 'one' }, acme)).status).toBe(201)
  const refused = await node.ask('POST /v1/pools', { name: 'two' }, acme)
  expect(codeOf(refused)).toEqual([409, 'POOL_LIMIT_REACHED'])
  expect(refused.body.detail).toContain('more than 1 pools')
  const worker = { workerId: crypto.randomUUID(), name: 'w', pools: [{ pool: 'two', handlers: ['h'], slots: 1 }] }
  expect(codeOf(await node.ask('POST /v1/workers', worker, acme))).toEqual([409, 'POOL_LIMIT_REACHED'])
  await declare('pooled', { maxPools: 2 })
  expect((await node.ask('POST /v1/workers', worker, acme)).status).toBeLessThan(300)
  expect(await refusals('maxPools')).toBe(2)
})

it('maxWorkers bounds workers with the tenant’s own tokens', async () => {
  const acme = await as('staffed')
  await declare('staffed', { maxWorkers: 2 })
  const other = await node.another()
  const workerIds = Array.from({ length: 8 }, () => crypto.randomUUID())
  const register = (workerId: string, i = 0, headers: Record<string, string> = acme) =>
    ask(
      [node.url, other.url][i % 2]!,
      'POST /v1/workers',
      { workerId, name: 'w', pools: [{ pool: 'p', handlers: ['h'], slots: 1 }] },
      headers,
    )
  const answers = await Promise.all(workerIds.map((workerId, i) => register(workerId, i)))
  const there = workerIds.filter((_, i) => answers[i]!.status < 300)
  expect(there).toHaveLength(2)
  expect(codeOf(answers.find(({ status }) => status >= 300)!)).toEqual(exceeded)
  expect((await register(there[0]!)).status).toBeLessThan(300)
  expect((await register(crypto.randomUUID(), 0, platform)).status).toBeLessThan(300)
  await node.ask(`DELETE /v1/workers/${there[0]}`, undefined, acme)
  const next = crypto.randomUUID()
  await until(async () => (await register(next)).status < 300)
})

it('maxIdempotencyKeys bounds the keys that are remembered', async () => {
  const acme = await as('keyed')
  const create = (key?: string) => node.ask('POST /v1/jobs', now, { ...acme, ...(key && { 'idempotency-key': key }) })
  await create('a')
  await declare('keyed', { maxIdempotencyKeys: 2 })
  // The first is counted once the quota is known.
  let made = 0
  await until(async () => {
    const { status } = await create(`b${made}`)
    if (status === 201) made++
    return status === 429
  })
  const refused = await create('c')
  expect([...codeOf(refused), refused.body.detail]).toEqual([
    ...exceeded,
    expect.stringContaining('maxIdempotencyKeys'),
  ])
  expect((await create('a')).status).toBe(200)
  expect((await create()).status).toBe(201)
})

it('maxEventStreams bounds streams of events and of log lines together', async () => {
  const acme = await as('streamed')
  await declare('streamed', { maxEventStreams: 2 })
  const { body: job } = await node.ask('POST /v1/jobs', now, acme)
  const [events, logs] = ['/v1/events', `/v1/executions/${job.jobId}/logs?follow=true`]
  const open = async (path: string) => {
    const closing = new AbortController()
    const { status } = await fetch(node.url + path, { headers: acme, signal: closing.signal })
    return { status, closing }
  }
  // Until the quota is known.
  let streams: Awaited<ReturnType<typeof open>>[] = []
  await until(async () => {
    for (const { closing } of streams) closing.abort()
    streams = [await open(events), await open(logs), await open(events)]
    return streams.map(({ status }) => status).join() === '200,200,429'
  })
  expect((await open(logs)).status).toBe(429)
  streams[1]!.closing.abort()
  await until(async () => (await open(events)).status === 200)
  for (const { closing } of streams) closing.abort()
})
