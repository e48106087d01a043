import { defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Database } from '../../../packages/server/src/store/database.ts'
import { Pruner } from '../../../packages/server/src/upkeep/pruner.ts'
import { quickTimes, testCarillon } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
let sql: pg.Client
let keys = 0

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const target = { handler: 'h' }
const now = { type: 'ONE_SHOT', target }
const later = { type: 'DELAYED', delayMs: 3_600_000, target }
const newKey = () => `key ${++keys}`

async function create(body: object, dedupe: object) {
  const answer = await node.ask('POST /v1/jobs', { ...body, dedupe })
  fitsContract('createJob', answer)
  return { status: answer.status, ...answer.body.dedupe, job: answer.body }
}
const ledger = async (id: string) =>
  (await sql.query('select state, reason from carillon.executions where execution_id = $1', [id])).rows[0]
const isJob = async (id: string) =>
  (await sql.query('select from carillon.jobs where job_id = $1', [id])).rowCount === 1
const age = (key: string, seconds: number) =>
  sql.query(
    `update carillon.dedupes set first_at = first_at - $2 * interval '1 second',
       window_until = window_until - $2 * interval '1 second' where key = $1`,
    [key, seconds],
  )

/** As if a worker had taken it. */
async function start(id: string): Promise<void> {
  await sql.query('delete from carillon.ready where execution_id = $1', [id])
  await sql.query(
    `insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
     select nextval('carillon.lease_ids'), $1, pool, lane, tag, tag, now(), now() + interval '1 hour', 1, true, 1, array[$1::uuid]
     from carillon.executions where execution_id = $1`,
    [id],
  )
}
async function end(id: string): Promise<void> {
  await sql.query('delete from carillon.leases where ids = array[$1::uuid]', [id])
  await sql.query('delete from carillon.ready where execution_id = $1', [id])
  await sql.query(`update carillon.executions set state = 'SUCCEEDED', finished_at = now() where execution_id = $1`, [
    id,
  ])
}

describe('a duplicate that is kept out', () => {
  it.each([
    ['pending', now],
    ['to come', later],
  ])('names the one that stands: %s', async (_, body) => {
    const key = newKey()
    const first = await create(body, { key })
    const second = await create({ ...body, payload: 2 }, { key })
    expect([first.status, first.verdict, first.executionId]).toEqual([201, 'NEW', first.job.jobId])
    expect([second.status, second.verdict, second.executionId]).toEqual([200, 'KEPT', first.job.jobId])
    expect(second.job).toMatchObject({ jobId: first.job.jobId, state: 'ACTIVE', nextFireAt: first.job.nextFireAt })
  })

  it('is none in another tenant’s eyes, nor under another key', async () => {
    const key = newKey()
    await create(now, { key })
    expect((await create(now, { key: newKey() })).verdict).toBe('NEW')
  })
})

describe('one that can never run any more', () => {
  it.each([
    ['stands in nobody’s way', {}, 'NEW'],
    ['stands while its window is open', { windowSec: 3_600 }, 'KEPT'],
  ])('%s: its time has passed in a pause', async (_, window, verdict) => {
    const key = newKey()
    const first = await create(later, { key, ...window })
    const job = `/v1/jobs/${first.job.jobId}`
    await node.ask(`POST ${job}/pause`)
    await sql.query(
      `update carillon.schedules set nominal = carillon.at(carillon.ms(now()) - 1000) where job_id = $1`,
      [first.job.jobId],
    )
    expect((await node.ask(`POST ${job}/resume`)).body.state).toBe('COMPLETED')
    expect((await create(now, { key, ...window })).verdict).toBe(verdict)
  })
})

describe('one that runs', () => {
  it.each(['KEEP', 'REPLACE', 'DEBOUNCE'])('stands while unfinished: %s', async (onDuplicate) => {
    const key = newKey()
    const first = await create(now, { key })
    await start(first.executionId)
    const second = await create(now, { key, onDuplicate, while: 'UNFINISHED' })
    expect([second.verdict, second.executionId, second.job.lastState]).toEqual(['KEPT', first.executionId, 'RUNNING'])
    await end(first.executionId)
    expect((await create(now, { key, onDuplicate })).verdict).toBe('NEW')
  })

  it('is no duplicate of what only counts while pending', async () => {
    const key = newKey()
    const first = await create(now, { key, while: 'PENDING' })
    await start(first.executionId)
    const second = await create(now, { key, while: 'PENDING' })
    expect([second.status, second.verdict]).toEqual([201, 'NEW'])
    expect((await create(now, { key, while: 'PENDING' })).executionId).toBe(second.executionId)
    await end(first.executionId)
  })
})

describe('a newer one', () => {
  it('replaces what is pending', async () => {
    const key = newKey()
    const first = await create(now, { key })
    const second = await create({ ...now, payload: 2 }, { key, onDuplicate: 'REPLACE' })
    expect([second.status, second.verdict, second.executionId]).toEqual([201, 'REPLACED', second.job.jobId])
    expect(await ledger(first.executionId)).toEqual({ state: 'CANCELLED', reason: 'REPLACED' })
    expect(await ledger(second.executionId)).toEqual({ state: null, reason: null })
  })

  it('replaces what is to come, even after its time was changed', async () => {
    const key = newKey()
    const first = await create(later, { key })
    const runAt = new Date(Date.now() + 7_200_000).toISOString()
    const put = await node.ask(`PUT /v1/jobs/${first.job.jobId}`, { type: 'ONE_SHOT', runAt, target })
    expect(put.status).toBe(200)
    const second = await create(later, { key, onDuplicate: 'REPLACE' })
    expect([await isJob(first.job.jobId), await isJob(second.job.jobId)]).toEqual([false, true])
    expect(second.verdict).toBe('REPLACED')
    const third = await create(now, { key, onDuplicate: 'REPLACE' })
    expect([third.verdict, await isJob(second.job.jobId), third.job.nextFireAt]).toEqual(['REPLACED', false, null])
  })

  it('moves the time on, but no further than it may wait', async () => {
    const key = newKey()
    const rule = { key, onDuplicate: 'DEBOUNCE', maxWaitSec: 5_000 }
    const first = await create(later, rule)
    await age(key, 1_000)
    const second = await create(later, rule)
    await age(key, 1_000)
    const third = await create(later, rule)
    const at = ({ job }: { job: { nextFireAt: string } }) => Date.parse(job.nextFireAt)
    expect([first.verdict, second.verdict, third.verdict]).toEqual(['NEW', 'DEBOUNCED', 'DEBOUNCED'])
    expect(at(second)).toBeGreaterThanOrEqual(at(first))
    // 2,000 s have passed since the first one, so 3,000 are left of 5,000: less than the delay of an hour.
    expect(at(third) - at(first)).toBe((5_000 - 2_000 - 3_600) * 1_000)
    await age(key, 10_000)
    const last = await create(later, rule)
    expect([last.verdict, last.job.nextFireAt]).toEqual(['DEBOUNCED', null])
  })
})

describe('within its window', () => {
  it('one that has ended still stands, and is forgotten afterwards', async () => {
    const key = newKey()
    const rule = { key, windowSec: 600, onDuplicate: 'REPLACE' }
    const first = await create(now, rule)
    await end(first.executionId)
    const second = await create(now, rule)
    expect([second.status, second.verdict, second.executionId]).toEqual([200, 'KEPT', first.executionId])
    expect(second.job.state).toBe('COMPLETED')
    const database = new Database({
      ...{ url: node.databaseUrl, maxConnections: 1, statementTimeoutMs: 5_000, applicationName: 't' },
    })
    const kept = async () => (await sql.query('select from carillon.dedupes where key = $1', [key])).rowCount
    await new Pruner({ database }).runOnce()
    expect(await kept()).toBe(1)
    await age(key, 601)
    await new Pruner({ database }).runOnce()
    await database.end()
    expect(await kept()).toBe(0)
    expect((await create(now, rule)).verdict).toBe('NEW')
  })
})

it.each([
  ['/dedupe', { type: 'CRON', schedule: '@daily', target, dedupe: { key: 'k' } }],
  ['/key', { ...later, key: 'j', dedupe: { key: 'k' } }],
  ['/dedupe/maxWaitSec', { ...later, dedupe: { key: 'k', maxWaitSec: 5 } }],
  ['/dedupe/while', { ...later, dedupe: { key: 'k', while: 'RUNNING' } }],
])('refuses what makes no sense: %s', async (pointer, body) => {
  const answer = await node.ask('POST /v1/jobs', body)
  expect({ status: answer.status, pointer: answer.body.errors[0].pointer }).toEqual({ status: 422, pointer })
})

it('a program gets a handle to what stands', async () => {
  const noop = defineHandler<number, number, number>({ name: 'noop' })
  await using test = await testCarillon((carillon) => carillon.handle(noop, async ({ payload }) => payload), quickTimes)
  const dedupe = { key: 'k', onDuplicate: 'DEBOUNCE', maxWaitSec: 60 } as const
  const first = await test.carillon.enqueue(noop, 1, { delayMs: 60_000, dedupe })
  const second = await test.carillon.enqueue(noop, 2, { dedupe })
  expect(second.executionId).not.toBe(first.executionId)
  expect(await second.result({ waitMs: 10_000 })).toBe(2)
  const client = new pg.Client(test.databaseUrl)
  await expect(test.carillon.enqueue(noop, 3, { dedupe, tx: client })).rejects.toThrow(/beside tx/)
})
