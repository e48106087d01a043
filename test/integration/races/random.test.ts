/**
 * A few thousand operations, drawn from a seed, from four connections at once; then every execution is in one place, and
 * leasing and reporting alone bring all of them to an end. The seed fixes what is asked for, not how it interleaves.
 */
import { defaults } from '@carillon/contract'
import type { LeasedExecution } from '@carillon/sdk'
import { expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { replay } from '../../../packages/server/src/store/executions/replay.ts'
import { changeJob } from '../../../packages/server/src/store/jobs/change.ts'
import { expireDue, releaseStranded } from '../../../packages/server/src/store/workers/sweep.ts'
import { endOf, openStore, type TestStore } from '../../support/store.ts'
import { raceTimeoutMs } from './rounds.ts'

const operationCount = 4_000
const callers = 4
const seed = Number(process.env.CARILLON_TEST_SEED ?? Date.now() % 1_000_000_000)

/** Mulberry32. */
function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

it(`random operations leave every execution in one place (seed ${seed})`, { timeout: raceTimeoutMs }, async () => {
  console.info(`seed ${seed}: set CARILLON_TEST_SEED to repeat`)
  await using store = await openStore({ connections: callers * 2 })
  const policies = ['ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE'] as const
  const limits = [{}, { startWithinSec: 1, deadlineSec: 1 }]
  const jobs: string[] = []
  for (const overlap of policies) for (const more of limits) jobs.push(await store.job({ overlap, ...more }))

  const held: LeasedExecution[] = []
  const done: Record<string, number> = {}
  const before = await store.deadlocks()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const random = randomFrom(seed + caller)
      for (let n = 0; n < operationCount / callers; n++) {
        const operations = operationsOn(store, jobs, held, random)
        const names = Object.keys(operations)
        const name = names[Math.floor(random() * names.length)]!
        await operations[name]!()
        done[name] = (done[name] ?? 0) + 1
        if (n % 200 === 199) await store.assertOnePlace()
      }
    }),
  )
  await store.assertOnePlace()
  expect((await store.deadlocks()) - before, 'deadlocks').toBe(0)
  await drain(store)
  await store.assertOnePlace()
  console.info(done)
})

function operationsOn(store: TestStore, jobs: string[], held: LeasedExecution[], random: () => number) {
  const { database } = store
  const some = <T>(items: readonly T[], most: number) =>
    items
      .map((item) => ({ item, at: random() }))
      .sort((a, b) => a.at - b.at)
      .slice(0, 1 + Math.floor(random() * most))
      .map(({ item }) => item)
  const someIds = async (where: string) =>
    some(
      (
        await database.query<{ execution_id: string }>(
          null,
          `select execution_id from carillon.executions where ${where} order by fired_at desc limit 30`,
        )
      ).map((row) => row.execution_id),
      8,
    )
  const operations: Record<string, () => Promise<unknown>> = {
    fire: () => store.fire(some(jobs, 6), 1 + Math.floor(random() * 3)),
    submit: () =>
      store.submit(1 + Math.floor(random() * 5), random() < 0.3 ? { startWithinSec: 1, deadlineSec: 1 } : null),
    lease: async () => held.push(...(await store.lease(1 + Math.floor(random() * 10)))),
    // What was taken over by the sweeper or another caller is reported all the same, and refused.
    report: async () => {
      const ends = some(held, 10).map((lease) => {
        if (random() < 0.5) return endOf(lease)
        return endOf(lease, 'FAILED', random() < 0.5 ? {} : { next: 'DEAD', reason: 'X' })
      })
      await store.report(ends)
      if (random() < 0.5) held.splice(0, held.length, ...held.slice(-40))
    },
    sweep: () => (random() < 0.2 ? store.sweeper().runOnce() : releaseStranded(database)),
    retries: () => store.fireReturns(),
    cancel: async () => cancel(database, await someIds('true'), { reason: 'ASKED', actor: 'test' }),
    replay: async () => replay(database, await someIds(`state in ('DEAD', 'CANCELLED')`), 'test'),
    trigger: () => store.trigger(some(jobs, 1)[0]!),
    change: async () => {
      const job = (await store.readJob(some(jobs, 1)[0]!))!
      const state = random() < 0.3 ? ('PAUSED' as const) : ('ACTIVE' as const)
      const definition = random() < 0.5 ? { ...job.definition, name: `name ${random()}` } : null
      const due = state === 'PAUSED' ? null : job.nominal
      await changeJob(database, job, { definition, state, nominal: job.nominal, due, live: null, skipped: [] })
    },
    expire: async () => {
      const past = `now() - interval '1 second' where execution_id in (select execution_id from carillon.deadlines order by due desc limit 3)`
      if (random() < 0.2) {
        const ids = `select execution_id from carillon.executions where state is null and deadline_at is not null limit 2`
        const values = `expires_at = now() - interval '1 s', deadline_at = now() - interval '1 s'`
        await database.query(
          null,
          `update carillon.executions set ${values} where execution_id in (${ids} for update skip locked)`,
        )
        await database.query(null, `update carillon.deadlines set due = ${past}`)
      }
      await expireDue(database, 20)
    },
  }
  return operations
}

/** Nothing is stuck: what is unfinished ends by being leased and reported. */
async function drain(store: TestStore): Promise<void> {
  const open = 'select execution_id from carillon.executions where state is null'
  const inHand = 'select execution_id "executionId", fence from carillon.running'
  for (let n = 0; n < 50 && (await store.database.query(null, open)).length > 0; n++) {
    const running = await store.database.query<{ executionId: string; fence: number }>(null, inHand)
    await store.settle(running.map((lease) => endOf(lease)))
    await releaseStranded(store.database)
    await store.database.query(null, `update carillon.retries set due = now() - interval '1 s'`)
    await store.fireReturns()
    await store.lease(defaults.maxCatchUp)
  }
  expect(await store.database.query(null, open)).toEqual([])
}
