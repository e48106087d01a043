/** Limits over several nodes, by what the handlers see: work of every door, retries in between, limits raised and lowered meanwhile. */
import { type Carillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { promptTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

interface Work {
  account: string
  hold?: boolean
  failing?: boolean
}

const work = defineHandler<Work>({ name: 'work' })
const limits = ['acct:{payload.account}']

let test: TestCarillon
let carillon: Carillon
const running = new Map<string, number>()
const most = new Map<string, number>()
let gate = Promise.withResolvers<void>()

function handle(node: Carillon) {
  node.handle(work, { concurrency: 50 }, async ({ payload: { account, hold, failing }, attempt }) => {
    const count = (running.get(account) ?? 0) + 1
    running.set(account, count)
    most.set(account, Math.max(most.get(account) ?? 0, count))
    if (hold) await gate.promise
    else await new Promise((resolve) => setImmediate(resolve))
    running.set(account, running.get(account)! - 1)
    if (failing && attempt === 1) throw new Error('once')
  })
}

beforeAll(async () => {
  test = await testCarillon(handle, promptTimes)
  carillon = test.carillon
  for (let n = 0; n < 2; n++) {
    const node = await test.another()
    handle(node)
    await node.start()
  }
  await carillon.limits.put('acct', { concurrency: 3 })
})
afterAll(async () => {
  gate.resolve()
  await test[Symbol.asyncDispose]()
})

const retryPolicy = { initialDelayMs: 100, jitter: 0 }
const states = async (executionIds: string[]) =>
  Promise.all(executionIds.map(async (id) => (await carillon.executions.get(id))?.state))

it('never more than it allows, whichever way the work comes', async () => {
  const handles = await carillon.enqueueMany(
    work,
    Array.from({ length: 150 }, (_, n) => ({ account: 'a', failing: n % 10 === 0 })),
    { limits, retryPolicy },
  )
  const job = await carillon.schedule(work, { account: 'a' }, { key: 'yearly', cron: '0 0 1 1 *', limits })
  const triggered = await Promise.all(Array.from({ length: 10 }, () => carillon.trigger(job.jobId)))
  const sql = new pg.Client(test.databaseUrl)
  await sql.connect()
  const { rows } = await sql.query(
    `select carillon.enqueue('work', '{"account": "a"}', policy => '{"limits": ["acct:{payload.account}"]}') id from generate_series(1, 10)`,
  )
  const steps = ['one', 'two', 'three', 'four'].map((name) => ({
    ...{ name, target: { handler: 'work' }, payload: { account: 'a' }, limits },
  }))
  const run = await carillon.dagRuns.start({ name: 'limited', steps })
  for (const handle of handles) await handle.result()
  const ids = [...triggered.map(({ executionId }) => executionId), ...rows.map(({ id }) => id as string)]
  await until(async () => (await states(ids)).every((state) => state === 'SUCCEEDED'))
  await until(async () => (await carillon.dagRuns.get(run.runId))?.state === 'SUCCEEDED')
  expect(most.get('a')).toBe(3)
  const { rows: left } = await sql.query(
    `select (select count(*)::int from carillon.limit_holds) held, (select count(*)::int from carillon.waiting) waiting`,
  )
  expect(left).toEqual([{ held: 0, waiting: 0 }])
  await sql.end()
})

it('a limit that is raised lets in what waits, and explain says which limit it was', async () => {
  const handles = await carillon.enqueueMany(
    work,
    Array.from({ length: 8 }, () => ({ account: 'b', hold: true })),
    { limits },
  )
  await until(async () => running.get('b') === 3)
  const last = handles
    .map(({ executionId }) => executionId)
    .toSorted()
    .at(-1)!
  await until(async () => (await carillon.executions.explain(last)).reasons[0]?.code === 'LIMIT')
  const { reasons } = await carillon.executions.explain(last)
  expect(reasons[0]!.message).toMatch(
    /^the limit acct for b has no slot left: 3 of 3 are taken, held by .* 4 of its tenant wait before it/,
  )
  await carillon.limits.put('acct', { concurrency: 5 })
  await until(async () => running.get('b') === 5)
  await carillon.limits.delete('acct')
  await until(async () => running.get('b') === 8)
  gate.resolve()
  gate = Promise.withResolvers()
  for (const handle of handles) await handle.result()
})
