/** The life of a run in the store: what is released when, what is handed down, how it ends. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startedRunId, submissionId } from '../../../packages/server/src/domain/identity.ts'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { replay } from '../../../packages/server/src/store/executions/replay.ts'
import { TestRuns } from '../../support/dags.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { until } from '../../support/until.ts'

let store: TestStore
let dags: TestRuns
beforeAll(async () => {
  store = await openStore()
  dags = new TestRuns(store)
})
afterEach(async () => {
  await store.assertOnePlace()
  await store.clear()
})
afterAll(() => store[Symbol.asyncDispose]())

const failed = { next: 'DEAD' as const, reason: 'ATTEMPTS_USED_UP', error: { name: 'Error', message: 'no' } }

/** Leases what is ready and ends it: names of steps that are to die. */
async function work(dying: string[] = []): Promise<string[]> {
  await dags.advance()
  const leased = await store.lease(100)
  const names = leased.map(({ dag }) => dag!.step)
  const ends = leased.map((held, i) =>
    dying.includes(names[i]!)
      ? endOf(held, 'FAILED', failed)
      : endOf(held, 'SUCCEEDED', { result: `"of ${names[i]}"` }),
  )
  await store.settle(ends)
  await dags.advance()
  return names.sort()
}

const run = async (runId: string) => dags.runs.read(tenant, runId)

describe('a run', () => {
  it('releases a step when all that it depends on have SUCCEEDED, and gives it their results', async () => {
    const runId = await dags.start({ a: [], b: [], c: ['a', 'b'], d: ['c'] }, { payload: '{"n":1}' })
    expect(await dags.states(runId)).toEqual(['a BLOCKED', 'b BLOCKED', 'c BLOCKED', 'd BLOCKED'])
    expect(await work()).toEqual(['a', 'b'])
    const [c] = await store.lease(10)
    expect(c!.dag).toEqual({ runId, step: 'c', payload: { n: 1 }, results: { a: 'of a', b: 'of b' } })
    expect((await run(runId)).doneCount).toBe(2)
    await store.settle([endOf(c!)])
    expect(await work()).toEqual(['d'])
    expect(await run(runId)).toMatchObject({ state: 'SUCCEEDED', reason: null, doneCount: 4, failedCount: 0 })
  })

  it('skips what depends on a step that died, runs what asks for it, and FAILED', async () => {
    const runId = await dags.start({
      a: [],
      b: ['a'],
      c: ['b'],
      clean: { after: ['a', 'c'], runIf: 'ALL_DONE' },
      alarm: { after: ['c'], runIf: 'ANY_FAILED' },
    })
    expect(await work(['a'])).toEqual(['a'])
    expect(await work()).toEqual(['alarm', 'clean'])
    expect(await dags.states(runId)).toEqual([
      'a DEAD ATTEMPTS_USED_UP',
      'b SKIPPED DEPENDENCY_FAILED',
      'c SKIPPED DEPENDENCY_FAILED',
      'clean SUCCEEDED',
      'alarm SUCCEEDED',
    ])
    expect(await run(runId)).toMatchObject({ state: 'FAILED', reason: 'STEP_FAILED', doneCount: 5, failedCount: 1 })
  })

  it('SUCCEEDED with a failure that its step allows, and skips what was for a failure that did not come', async () => {
    const runId = await dags.start({
      a: { after: [], allowFailure: true },
      b: ['a'],
      c: [],
      alarm: { after: ['c'], runIf: 'ANY_FAILED' },
      after: ['alarm'],
    })
    await work(['a'])
    expect(await dags.states(runId)).toEqual([
      'a DEAD ATTEMPTS_USED_UP',
      'b SKIPPED DEPENDENCY_FAILED',
      'c SUCCEEDED',
      'alarm SKIPPED CONDITION_FALSE',
      'after SKIPPED DEPENDENCY_SKIPPED',
    ])
    expect(await run(runId)).toMatchObject({ state: 'SUCCEEDED', failedCount: 0 })
  })

  it('is cancelled: what waits ends, what runs is told', async () => {
    const runId = await dags.start({ a: [], b: [], c: ['a', 'b'] })
    await dags.advance()
    const [first] = await store.lease(1)
    await dags.runs.cancel(tenant, runId, 'test')
    await store.settle([endOf(first!, 'CANCELLED', { next: null })])
    await dags.advance()
    expect(new Set(await dags.states(runId))).toEqual(
      new Set(['a CANCELLED RUN_CANCELLED', 'b CANCELLED RUN_CANCELLED', 'c CANCELLED RUN_CANCELLED']),
    )
    expect(await run(runId)).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED', failedCount: 3 })
    await expect(dags.runs.cancel(tenant, runId, 'test')).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
  })

  it('SUCCEEDED if the cancel came too late for every step', async () => {
    const runId = await dags.start({ a: [] })
    await dags.advance()
    const [held] = await store.lease(1)
    await dags.runs.cancel(tenant, runId, 'test')
    await store.settle([endOf(held!)])
    await dags.advance()
    expect(await run(runId)).toMatchObject({ state: 'SUCCEEDED', reason: null })
  })

  it('releases nothing while it is paused', async () => {
    const runId = await dags.start({ a: [], b: ['a'] })
    await dags.advance()
    await dags.runs.pause(tenant, runId, 'test')
    expect(await work()).toEqual(['a'])
    expect(await work()).toEqual([])
    expect(await dags.states(runId)).toEqual(['a SUCCEEDED', 'b BLOCKED'])
    await dags.runs.resume(tenant, runId, 'test')
    expect(await work()).toEqual(['b'])
    expect(await run(runId)).toMatchObject({ state: 'SUCCEEDED', paused: false })
  })

  it('is retried from what failed, keeping what SUCCEEDED', async () => {
    const runId = await dags.start({ a: [], b: ['a'], c: ['b'], d: ['a'] })
    await work()
    await work(['b'])
    await work()
    expect(await run(runId)).toMatchObject({ state: 'FAILED' })
    await dags.runs.retry(tenant, runId, 'test')
    expect(await dags.states(runId)).toEqual(['a SUCCEEDED', 'b BLOCKED', 'c BLOCKED', 'd SUCCEEDED'])
    expect(await run(runId)).toMatchObject({ state: 'RUNNING', doneCount: 2 })
    expect(await work()).toEqual(['b'])
    expect(await work()).toEqual(['c'])
    expect(await run(runId)).toMatchObject({ state: 'SUCCEEDED', doneCount: 4, failedCount: 0 })
    await expect(dags.runs.retry(tenant, runId, 'test')).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
  })

  it('ends when its deadline has passed', async () => {
    const runId = await dags.start({ a: [], b: ['a'] }, { deadlineSec: 1 })
    await dags.advance()
    await store.database.query(
      null,
      `update carillon.deadlines set due = now() - interval '1 second' where kind = 'RUN'`,
    )
    await store.sweeper().runOnce()
    await dags.advance()
    expect(await run(runId)).toMatchObject({ state: 'FAILED', reason: 'DEADLINE', failedCount: 2 })
  })

  it('is cancelled if the execution that has started it is gone, unless all its steps have ended', async () => {
    const items = (executionId: string) => {
      const runId = startedRunId(executionId, null)
      const started = { runId, executionId, fence: 1_024, ancestors: [], paused: false }
      return dags.start({ 'each.0': [], 'each.1': [] }, { started, fanOut: { concurrency: null, maxFailures: 1 } })
    }
    const over = await items(submissionId(Date.now()))
    await dags.advance()
    const [a, b] = await store.lease(2)
    await store.settle([endOf(a!), endOf(b!, 'FAILED', failed)])
    const open = await items(submissionId(Date.now()))
    await store.sweeper().runOnce()
    await dags.advance()
    expect(await run(over)).toMatchObject({ state: 'SUCCEEDED', reason: null, failedCount: 1 })
    expect(await run(open)).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED' })
  })

  it('counts the slots it gives away, also beside runs that change while ADVANCE waits for them', async () => {
    const runIds: string[] = []
    for (let i = 0; i < 4; i++) {
      const executionId = submissionId(Date.now())
      const runId = startedRunId(executionId, null)
      const started = { runId, executionId, fence: 1_024, ancestors: [], paused: false }
      const items = { 'each.0': [], 'each.1': [], 'each.2': [], 'each.3': [] }
      await dags.start(items, { started, fanOut: { concurrency: 2, maxFailures: 0 } })
      runIds.push(runId)
    }
    const other = await store.database.connect()
    for (const runId of runIds.toSorted().slice(0, 2)) {
      await other.query('begin')
      await other.query('update carillon.dag_runs set paused = paused where execution_id = $1', [runId])
      const advanced = dags.advance()
      await until(async () => {
        const waiting = await store.database.query(
          null,
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length > 0
      })
      await other.query('commit')
      await advanced
      await store.assertOnePlace()
      const leased = await store.lease(100)
      expect(leased.map(({ dag }) => dag!.runId).sort()).toEqual(runIds.flatMap((each) => [each, each]).sort())
      await store.settle(leased.map((held) => endOf(held)))
    }
    other.release()
  })

  it('goes on when one step is cancelled by itself', async () => {
    const runId = await dags.start({ a: [], b: [], c: ['b'], d: { after: ['a', 'c'], runIf: 'ALL_DONE' } })
    await dags.advance()
    const c = await dags.step(runId, 2)
    await cancel(store.database, [c.executionId], { reason: 'CANCELLED', actor: 'test' })
    expect(await work()).toEqual(['a', 'b'])
    expect(await work()).toEqual(['d'])
    expect(await run(runId)).toMatchObject({ state: 'FAILED', failedCount: 1 })
  })

  it('skips a step that would be given more than it may, and says so', async () => {
    const runId = await dags.start({ a: [], b: [], c: [], d: [], e: [], f: ['a', 'b', 'c', 'd', 'e'] })
    await dags.advance()
    const result = JSON.stringify('x'.repeat(250_000))
    await store.settle((await store.lease(10)).map((held) => endOf(held, 'SUCCEEDED', { result })))
    await dags.advance()
    expect((await dags.states(runId)).at(-1)).toBe('f SKIPPED INPUTS_TOO_LARGE')
    expect(await run(runId)).toMatchObject({ state: 'FAILED', failedCount: 1 })
  })

  it('has steps that cannot be replayed by themselves', async () => {
    const runId = await dags.start({ a: [] })
    await work(['a'])
    const { executionId } = await dags.step(runId, 0)
    expect(await replay(store.database, [executionId], 'test')).toEqual([{ executionId, verdict: 'STEP' }])
  })
})
