/** The lock order of 0025_limits.sql: what runs of graphs wait for comes after everything they hold. See lock-order.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Advance, advance, readReleased } from '../../../packages/server/src/store/dags/advance.ts'
import { expireRuns } from '../../../packages/server/src/store/dags/runs.ts'
import type { Database } from '../../../packages/server/src/store/database.ts'
import { report } from '../../../packages/server/src/store/executions/report.ts'
import { TestRuns } from '../../support/dags.ts'
import { againstOrder, LockWatch } from '../../support/lock-watch.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { raceTimeoutMs } from './rounds.ts'

type Operation = (database: Database) => Promise<unknown>

describe('the lock order of runs', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  let watch: LockWatch
  let operations: Map<string, Operation>
  beforeAll(async () => {
    store = await openStore()
    operations = await stage(store)
    watch = new LockWatch(store.url)
  })
  afterAll(async () => {
    await watch[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
  })

  it('is kept by every operation, and all of them wait for something', async () => {
    for (const [name, operation] of operations) {
      const waits = await watch.waits(operation)
      expect(againstOrder(waits), name).toEqual([])
      expect(waits.length, name).toBeGreaterThan(0)
    }
  })

  it.each([
    [
      'report',
      'release_steps',
      'order by b.execution_id for update of b',
      'order by b.execution_id desc for update of b',
    ],
    [
      'cancel',
      'hold_blocked',
      'order by b.execution_id for update of b',
      'order by b.execution_id desc for update of b',
    ],
    [
      'advance',
      'advance',
      'order by x.execution_id for no key update) r',
      'order by x.execution_id desc for no key update) r',
    ],
    ['cancel', 'hold_blocked', 'from unnest(p_ending) i(id)', 'from unnest(null::uuid[]) i(id)'],
  ])('is seen to be broken by %s when %s takes locks otherwise (%s)', async (name, fn, right, wrong) => {
    const [found] = await store.database.query<{ text: string }>(
      null,
      `select pg_get_functiondef(('carillon.' || $1)::regproc) text`,
      [fn],
    )
    const { text } = found!
    expect(text).toContain(right)
    await store.database.query(null, text.replaceAll(right, wrong))
    try {
      expect(againstOrder(await watch.waits(operations.get(name)!))).not.toEqual([])
    } finally {
      await store.database.query(null, text)
    }
  })
})

/** Several runs with steps that run, that wait for others, and that nobody has taken up yet. */
async function stage(store: TestStore): Promise<Map<string, Operation>> {
  const dags = new TestRuns(store)
  const graph = { a: [], b: [], c: ['a', 'b'], d: ['b'], e: ['c', 'd'], f: ['d'] }
  const runs: string[] = []
  for (let n = 0; n < 4; n++) runs.push(await dags.start(graph, { deadlineSec: 60 }))
  await dags.advance()
  const leased = await store.lease(8)
  const ofRuns = (...numbers: number[]) => leased.filter(({ dag }) => numbers.some((n) => runs[n] === dag!.runId))
  const byId = (a: { executionId: string }, b: { executionId: string }) => (a.executionId < b.executionId ? 1 : -1)
  // Of two runs a step died: others are to be skipped. One run has ended, and may be retried.
  await store.settle(ofRuns(2).map((held) => endOf(held, 'FAILED', { next: 'DEAD', reason: 'X' })))
  await store.settle(ofRuns(3).map((held) => endOf(held, 'FAILED', { next: 'DEAD', reason: 'X' })))
  const released = await readReleased(store.database, store.led, 100)
  const items = released.toSorted(byId).map(
    ({ executionId, runId }): Advance => ({
      executionId,
      runId,
      verdict: 'SKIPPED',
      reason: 'X',
      tag: -1,
      inputs: null,
      error: null,
      fence: null,
    }),
  )
  const last = await dags.start({ a: [], b: ['a'] })
  await dags.advance()
  await store.settle(
    (await store.lease(10))
      .filter((held) => held.dag!.runId === last)
      .map((held) => endOf(held, 'FAILED', { next: 'DEAD', reason: 'X' })),
  )
  await dags.advance()
  const ended = await dags.runs.readSteps(await dags.runs.read(tenant, last))
  // Once more something to be taken up, after what was advanced on the way.
  const again = [await dags.start(graph), await dags.start(graph)]
  await store.database.query(
    null,
    `update carillon.blocked set remaining = 0, held = false where run_id = any ($1) and run_id <> execution_id`,
    [again],
  )
  await store.database.query(null, `update carillon.deadlines set due = now() where kind = 'RUN'`)
  const open = (await readReleased(store.database, store.led, 100)).toSorted(byId)
  const skips = open.map(
    ({ executionId, runId }): Advance => ({
      executionId,
      runId,
      verdict: 'SKIPPED',
      reason: 'X',
      tag: -1,
      inputs: null,
      error: null,
      fence: null,
    }),
  )
  expect(items.length + skips.length).toBeGreaterThan(5)
  await store.database.query(null, 'update carillon.dag_runs set paused = true where execution_id = $1', [again[1]])
  await store.database.query(null, 'update carillon.blocked set held = true where run_id = $1 and remaining = 0', [
    again[1],
  ])
  const ends = ofRuns(0, 1)
    .toSorted(byId)
    .map((held) => endOf(held))
  const waiting = (
    await store.database.query<{ id: string }>(
      null,
      'select execution_id id from carillon.blocked where run_id = any ($1) and execution_id <> run_id order by 1 desc',
      [[...runs, ...again]],
    )
  ).map(({ id }) => id)
  return new Map<string, Operation>([
    ['report', (db) => report(db, ends)],
    ['cancel', (db) => db.query(null, `select carillon.cancel($1, 'ASKED', 'test')`, [waiting])],
    ['advance', (db) => advance(db, store.led.toReversed(), skips)],
    [
      'cancel run',
      (db) => db.query(null, `select carillon.cancel_runs($1, 'RUN_CANCELLED', 'test')`, [again.toReversed()]),
    ],
    ['resume', (db) => db.query(null, `select carillon.pause_run($1, false, 'test')`, [again[1]])],
    [
      'retry run',
      (db) =>
        db.query(null, `select carillon.retry_run($1, $2, $3, 'test')`, [
          last,
          ended.map(({ executionId }) => executionId),
          ended.map(({ dependsOn }) => dependsOn.length),
        ]),
    ],
    ['expire', (db) => expireRuns(db, 100)],
  ])
}
