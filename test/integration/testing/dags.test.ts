/** Runs of graphs, and jobs that follow others, on the clock of a test: nothing here waits for real time. */
import { defineHandler } from '@carillon/server'
import { implementHandler, type Run, type TestCarillon } from '@carillon/server/testing'
import { expect, it } from 'vitest'
import { testCarillonAt } from './test-carillon.test-support.ts'

const start = '2026-01-01T00:00:00Z'
const work = defineHandler<unknown>({ name: 'work' })
const flaky = defineHandler<{ fails: number }>({ name: 'flaky' })
const endless = defineHandler<unknown>({ name: 'endless' })
const handlers = [
  implementHandler(work, ({ payload, dag }) => (payload === null ? (dag?.results ?? null) : payload)),
  implementHandler(flaky, ({ payload, attempt }) => {
    if (attempt <= payload.fails) throw new Error('not yet')
    return attempt
  }),
  implementHandler(endless, async ({ signal }) => {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }),
]
const step = (name: string, dependsOn: string[] = [], more: object = {}) => ({
  ...{ name, dependsOn, target: { handler: 'work' }, retryPolicy: { maxAttempts: 1 } },
  ...more,
})
const at = (time: string) => new Date(`2026-01-01T${time}Z`)
const times = (runs: Run[]) => runs.map(({ startedAt }) => startedAt.toISOString().slice(11, 19))
const runOf = async (carillon: TestCarillon, runId: string) => (await carillon.dagRuns.get(runId))!
const stateOf = async (carillon: TestCarillon, runId: string) => (await runOf(carillon, runId)).state
const statesOf = async (carillon: TestCarillon, runId: string) =>
  Object.fromEntries((await runOf(carillon, runId)).steps.map(({ name, state }) => [name, state]))

it('a run takes no time of its own; a retry delays what is behind it', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const fixed = { maxAttempts: 3, backoff: 'FIXED', initialDelayMs: 600_000 } as const
  const { runId } = await carillon.dagRuns.start({
    steps: [
      step('extract', [], { payload: 1 }),
      { name: 'load', dependsOn: ['extract'], target: { handler: 'flaky' }, payload: { fails: 2 }, retryPolicy: fixed },
      step('report', ['extract', 'load']),
    ],
  })
  await carillon.drain()
  expect(await statesOf(carillon, runId)).toEqual({ extract: 'SUCCEEDED', load: 'FAILED', report: 'BLOCKED' })
  await carillon.advance('PT1H')
  expect(times(carillon.runs())).toEqual(['00:00:00', '00:00:00', '00:10:00', '00:20:00', '00:20:00'])
  expect(carillon.runs().at(-1)).toMatchObject({ outcome: 'SUCCEEDED', result: { extract: 1, load: 3 } })
  const run = await runOf(carillon, runId)
  expect(run).toMatchObject({ state: 'SUCCEEDED', finishedAt: at('00:20:00').toISOString() })
})

it('a step waits for its signal, and no longer than it may', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const steps = [{ name: 'approve', waitFor: 'SIGNAL' as const, timeoutSec: 86_400 }, step('deploy', ['approve'])]
  const [one, other] = [await carillon.dagRuns.start({ steps }), await carillon.dagRuns.start({ steps })]
  await carillon.advance('PT6H')
  await carillon.dagRuns.signal(one.runId, 'approve', { by: 'ada' })
  await carillon.drain()
  expect(await stateOf(carillon, one.runId)).toBe('SUCCEEDED')
  expect(times(carillon.runs())).toEqual(['06:00:00'])
  expect(carillon.runs()[0]!.result).toEqual({ approve: { by: 'ada' } })
  await carillon.advance('P1D')
  expect(await statesOf(carillon, other.runId)).toEqual({ approve: 'DEAD', deploy: 'SKIPPED' })
})

it('the deadline of a run cancels what is left', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const steps = [step('a', [], { target: { handler: 'endless' }, timeoutSec: 7_200 }), step('b', ['a'])]
  const { runId } = await carillon.dagRuns.start({ steps, deadlineSec: 3_600 })
  await carillon.advance('PT59M')
  expect(await stateOf(carillon, runId)).toBe('RUNNING')
  await carillon.advance('PT2M')
  expect(await runOf(carillon, runId)).toMatchObject({ state: 'FAILED', reason: 'DEADLINE' })
})

it('a graph on a schedule: overlap counts whole runs', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const gate = { name: 'gate', waitFor: 'SIGNAL' as const, timeoutSec: 5_400 }
  await carillon.dags.create({ key: 'hourly', steps: [gate, step('after', ['gate'], { runIf: 'ALL_DONE' })] })
  const job = await carillon.dags.schedule('hourly', { key: 'each hour', cron: '0 * * * *', overlap: 'FORBID' })
  await carillon.advanceTo('2026-01-01T05:59:00Z')
  // Each run lasts an hour and a half: at 02:00 the one of 01:00 goes on.
  const listed = await carillon.executionsOf(job.jobId)
  expect(listed.map(({ state, reason, scheduledFor }) => [scheduledFor.getUTCHours(), state, reason])).toEqual([
    [5, 'RUNNING', null],
    [4, 'SKIPPED', 'OVERLAP'],
    [3, 'DEAD', expect.any(String)],
    [2, 'SKIPPED', 'OVERLAP'],
    [1, 'DEAD', expect.any(String)],
  ])
  expect(times(carillon.runs())).toEqual(['02:30:00', '04:30:00'])
})

it('items of a list run a few at a time, and a graph runs in a graph', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  await carillon.dags.create({ key: 'inner', steps: [step('x', [], { payload: { id: 1 } })] })
  const slow = { handler: 'endless' }
  const { runId } = await carillon.dagRuns.start({
    payload: [1, 2, 3],
    steps: [
      step('each', [], { target: slow, forEach: 'payload', concurrency: 2, maxFailures: 3, timeoutSec: 600 }),
      step('part', ['each'], { target: { dag: 'inner' } }),
    ],
  })
  await carillon.advance('PT9M')
  expect(carillon.runs().map(({ outcome }) => outcome)).toEqual(['RUNNING', 'RUNNING'])
  await carillon.advance('PT12M')
  expect(times(carillon.runs({ handler: 'endless' }))).toEqual(['00:00:00', '00:00:00', '00:10:00'])
  expect(times(carillon.runs({ handler: 'work' }))).toEqual(['00:20:00'])
  expect(await stateOf(carillon, runId)).toBe('SUCCEEDED')
})

it('a run inside another one ends with what has started it', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const wait = [{ name: 'wait', waitFor: 'SIGNAL' as const }]
  await carillon.dags.create({ key: 'waiting', steps: wait })
  const { runId } = await carillon.dagRuns.start({ steps: [step('part', [], { target: { dag: 'waiting' } })] })
  await carillon.drain()
  const inner = (await runOf(carillon, runId)).steps[0]!.run!.runId
  expect(await stateOf(carillon, inner)).toBe('RUNNING')
  await carillon.dagRuns.cancel(runId)
  await carillon.advance('PT5M')
  expect(await stateOf(carillon, inner)).toBe('CANCELLED')
  expect(await stateOf(carillon, runId)).toBe('CANCELLED')
})

it('a paused run goes on when it is resumed, and a failed one when it is retried', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const steps = [
    step('a', [], { target: { handler: 'endless' }, timeoutSec: 60 }),
    step('b', ['a'], { runIf: 'ALL_DONE' }),
  ]
  const { runId } = await carillon.dagRuns.start({ steps })
  await carillon.drain()
  await carillon.dagRuns.pause(runId)
  await carillon.advance('PT10M')
  expect(await statesOf(carillon, runId)).toEqual({ a: 'DEAD', b: 'BLOCKED' })
  await carillon.dagRuns.resume(runId)
  await carillon.drain()
  expect(await statesOf(carillon, runId)).toEqual({ a: 'DEAD', b: 'SUCCEEDED' })
  await carillon.dagRuns.retry(runId)
  await carillon.drain()
  expect(times(carillon.runs())).toEqual(['00:00:00', '00:10:00', '00:10:00'])
  expect(await stateOf(carillon, runId)).toBe('RUNNING')
})

it('a job follows another one, and a graph that is scheduled', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  await carillon.dags.create({ key: 'nightly', steps: [step('x', [], { payload: 'loaded' })] })
  await carillon.dags.schedule('nightly', { key: 'nightly at three', cron: '0 3 * * *' })
  const report = await carillon.schedule(work, { report: 1 }, { key: 'report', after: { job: 'nightly at three' } })
  await carillon.schedule(work, { archive: 1 }, { after: { job: 'report', on: 'ENDED' } })
  await carillon.advance('P2D')
  expect(carillon.runs().map(({ startedAt, payload }) => [startedAt.toISOString().slice(0, 16), payload])).toEqual(
    ['2026-01-01T03:00', '2026-01-02T03:00'].flatMap((time) => [
      [time, { report: 1 }],
      [time, { archive: 1 }],
      // Of one instant, steps come after executions of jobs.
      [time, 'loaded'],
    ]),
  )
  expect(await carillon.executionsOf(report.jobId)).toHaveLength(2)
})

it('a worker that dies with a step delays its run until it is taken for lost', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  carillon.crash('AFTER_COMMIT')
  const retryPolicy = { maxAttempts: 2, backoff: 'FIXED', initialDelayMs: 1_000 } as const
  const { runId } = await carillon.dagRuns.start({
    payload: [1],
    steps: [step('each', [], { forEach: 'payload', retryPolicy }), step('b', ['each'])],
  })
  await carillon.advance('PT1M')
  expect(carillon.runs().map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
    ['CRASHED', 1],
    ['SUCCEEDED', 2],
    ['SUCCEEDED', 1],
  ])
  expect(await stateOf(carillon, runId)).toBe('SUCCEEDED')
})

it('a step whose handler the test does not have is refused', async () => {
  await using carillon = await testCarillonAt(start, { handlers })
  const steps = [step('a'), step('b', ['a'], { target: { handler: 'misspelt' } })]
  const refused = { code: 'VALIDATION', errors: [{ pointer: '/steps/1/target/handler' }] }
  await expect(carillon.dagRuns.start({ steps })).rejects.toMatchObject(refused)
  await expect(carillon.dags.create({ key: 'misspelt', steps })).rejects.toMatchObject(refused)
})
