import { defineHandler } from '@carillon/server'
import { type CrashPoint, implementHandler, type TestCarillon } from '@carillon/server/testing'
import pg from 'pg'
import { expect, it } from 'vitest'
import { testCarillonAt } from './test-carillon.test-support.ts'

const now = '2026-01-01T00:00:00Z'
const charge = defineHandler<{ cents: number }>({ name: 'charge' })
const other = defineHandler({ name: 'other' })

let pool: pg.Pool
const inTransaction = implementHandler(charge, async (ctx) => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('insert into charges values ($1)', [ctx.payload.cents])
    await ctx.completeIn(client, 'charged')
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
})
const quiet = implementHandler(other, async () => 'done')

async function withCharges(carillon: TestCarillon, work: () => Promise<void>): Promise<void> {
  pool = new pg.Pool({ connectionString: carillon.databaseUrl, max: 2 })
  try {
    await pool.query('create table charges (cents int)')
    await work()
  } finally {
    await pool.end()
  }
}

async function charges(): Promise<number> {
  return (await pool.query('select from charges')).rowCount!
}

it.each<[CrashPoint, number, string[]]>([
  ['BEFORE_COMMIT', 0, ['CRASHED', 'SUCCEEDED']],
  ['AT_COMMIT', 0, ['CRASHED', 'SUCCEEDED']],
  ['AFTER_COMMIT', 1, ['CRASHED']],
])('with completeIn, a crash %s costs nothing and doubles nothing', async (point, soonAfter, outcomes) => {
  await using carillon = await testCarillonAt(now, { handlers: [inTransaction, quiet] })
  await withCharges(carillon, async () => {
    carillon.crash(point, { handler: charge })
    const handle = await carillon.enqueue(charge, { cents: 4_200 })
    const bystander = await carillon.enqueue(other, null)
    await carillon.advance('PT30S')
    expect(await charges()).toBe(soonAfter)
    // To everybody else it still runs; nobody knows better yet.
    expect(await handle.execution()).toMatchObject({ state: 'RUNNING', attempt: 1 })
    expect(await bystander.result()).toBe('done')
    await carillon.advance('PT10S')
    expect(await handle.execution()).toMatchObject({ state: 'SUCCEEDED', result: 'charged' })
    expect(carillon.runs({ handler: charge }).map(({ outcome }) => outcome)).toEqual(outcomes)
    expect(await charges()).toBe(1)
  })
})

it.each<[CrashPoint, number]>([
  ['BEFORE_COMMIT', 1],
  ['AFTER_COMMIT', 2],
])('without completeIn, after a crash %s its effect was there %i times', async (point, expected) => {
  const ids: string[] = []
  const sending = implementHandler(charge, async (ctx) => void ids.push(ctx.executionId))
  await using carillon = await testCarillonAt(now, { handlers: [sending] })
  carillon.crash(point)
  const handle = await carillon.enqueue(charge, { cents: 1 })
  await carillon.advance('PT1M')
  expect(ids).toEqual(Array(expected).fill(handle.executionId))
  const execution = await handle.execution()
  expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
  expect(carillon.runs()).toMatchObject([
    { attempt: 1, outcome: 'CRASHED' },
    { attempt: 2, outcome: 'SUCCEEDED' },
  ])
})

it('a crash of one that may not start twice ends it, its outcome unknown', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [quiet] })
  carillon.crash('AFTER_COMMIT')
  const handle = await carillon.enqueue(other, null, { delivery: 'AT_MOST_ONCE' })
  await carillon.advance('PT1M')
  expect(await handle.execution()).toMatchObject({ state: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
})

it('a second delivery under an old fence is refused, its transaction too', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [inTransaction] })
  await withCharges(carillon, async () => {
    carillon.deliverTwice({ handler: 'charge' })
    const handle = await carillon.enqueue(charge, { cents: 1 })
    await carillon.drain()
    const runs = carillon.runs()
    expect(runs).toMatchObject([
      { outcome: 'SUCCEEDED', result: 'charged', attempt: 1 },
      { outcome: 'REFUSED', attempt: 1, error: { message: expect.stringContaining('another attempt') } },
    ])
    expect(runs[1]!.fence).toBeLessThan(runs[0]!.fence)
    expect(runs[1]!.executionId).toBe(handle.executionId)
    expect(await charges()).toBe(1)
    expect(await handle.execution()).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  })
})

it('a second delivery of one that may not start twice does not start', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [quiet] })
  carillon.deliverTwice()
  await carillon.enqueue(other, null, { delivery: 'AT_MOST_ONCE' })
  await carillon.drain()
  expect(carillon.runs()).toMatchObject([{ outcome: 'SUCCEEDED', attempt: 1 }])
})

it('dying at a commit that never comes is a mistake of the test', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [quiet] })
  carillon.crash('AT_COMMIT')
  await carillon.enqueue(other, null)
  await expect(carillon.drain()).rejects.toThrow(/the handler other ended without ctx.completeIn/)
})

it('work enqueued in a transaction of the program runs at virtual time once that has committed', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [quiet, inTransaction] })
  await withCharges(carillon, async () => {
    const client = await pool.connect()
    await client.query('begin')
    await carillon.enqueue(other, null, { tx: client, delayMs: 60_000 })
    await carillon.advance('PT1H')
    expect(carillon.runs()).toEqual([])
    await client.query('commit')
    await client.query(`select carillon.enqueue('other', run_at => '2026-01-01T02:00:00Z')`)
    await client.query(`select carillon.enqueue('other')`)
    client.release()
    await carillon.drain()
    expect(carillon.runs()).toHaveLength(2)
    await carillon.advance('PT1H')
    expect(carillon.runs().at(-1)).toMatchObject({ startedAt: new Date('2026-01-01T02:00:00Z') })
  })
})
