import { once } from 'node:events'
import { setTimeout as after } from 'node:timers/promises'
import { defineHandler, PermanentError } from '@carillon/server'
import { implementHandler } from '@carillon/server/testing'
import { expect, it } from 'vitest'
import { starts, testCarillonAt } from './test-carillon.test-support.ts'

const now = '2026-01-01T00:00:00Z'
const work = defineHandler<{ n: number }>({ name: 'work' })
const wait = defineHandler<{ n: number }>({ name: 'wait' })
const waiting = implementHandler(
  wait,
  async (ctx) => {
    await once(ctx.signal, 'abort')
    throw ctx.signal.reason
  },
  { concurrency: 2 },
)

it('an attempt that fails comes back after its backoff, and not before', async () => {
  const failing = implementHandler(work, async (ctx) => {
    if (ctx.attempt < 4) throw new TypeError('not yet')
    return { attempt: ctx.attempt }
  })
  await using carillon = await testCarillonAt(now, { handlers: [failing] })
  const handle = await carillon.enqueue(work, { n: 1 })
  await carillon.drain()
  await carillon.drain()
  expect(carillon.runs()).toMatchObject([{ attempt: 1, outcome: 'FAILED', error: { name: 'TypeError' } }])
  await carillon.advance('PT10S')
  expect(starts(carillon).map((at) => at.slice(17, 23))).toEqual(['00.000', '01.000', '03.000', '07.000'])
  expect(await handle.result()).toEqual({ attempt: 4 })
})

it('dead letters in a row pause a job that asks for it', async () => {
  const failing = implementHandler(work, async () => {
    throw new PermanentError('no')
  })
  await using carillon = await testCarillonAt(now, { handlers: [failing] })
  const { jobId } = await carillon.schedule(work, { n: 1 }, { cron: '0 * * * *', pauseAfterFailures: 3 })
  await carillon.advance('P1D')
  expect(carillon.runs()).toHaveLength(3)
  expect(await carillon.job(jobId)).toMatchObject({ state: 'PAUSED' })
})

it('a handler that does real work is waited for', async () => {
  const slow = implementHandler(work, async ({ payload }) => {
    await after(30)
    return payload.n
  })
  await using carillon = await testCarillonAt(now, { handlers: [slow] })
  await carillon.enqueueMany(
    work,
    Array.from({ length: 25 }, (_, n) => ({ n })),
  )
  await carillon.drain()
  expect(carillon.runs().map(({ result }) => result)).toEqual(Array.from({ length: 25 }, (_, n) => n))
})

it('a timeout comes by virtual time, and so does the grace of a handler that ignores it', async () => {
  const stubborn = implementHandler(work, async (ctx) => {
    await once(ctx.signal, 'abort')
    await new Promise(() => {})
  })
  await using carillon = await testCarillonAt(now, { handlers: [waiting, stubborn] })
  const policy = { timeoutSec: 60, cancelGraceSec: 20, retryPolicy: { maxAttempts: 1 } }
  await carillon.enqueue(wait, { n: 1 }, policy)
  await carillon.enqueue(work, { n: 1 }, policy)
  await carillon.advance('PT59S')
  expect(carillon.runs()).toMatchObject([{ outcome: 'RUNNING' }, { outcome: 'RUNNING' }])
  await carillon.advance('PT1M')
  expect(carillon.runs()).toMatchObject([
    { handler: 'wait', outcome: 'TIMED_OUT', finishedAt: new Date('2026-01-01T00:01:00Z') },
    { handler: 'work', outcome: 'TIMED_OUT', finishedAt: new Date('2026-01-01T00:01:20Z') },
  ])
})

it('the deadline over all attempts and the window to start in pass by virtual time', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [waiting] })
  const first = await carillon.enqueue(wait, { n: 1 }, { deadlineSec: 90 })
  const second = await carillon.enqueue(wait, { n: 2 }, { timeoutSec: 600 })
  await carillon.drain()
  // Both places are taken: the third waits until it is too late.
  const third = await carillon.enqueue(wait, { n: 3 }, { startWithinSec: 30 })
  await carillon.advance('PT2M')
  expect(await first.execution()).toMatchObject({ state: 'DEAD', reason: 'DEADLINE' })
  expect(await second.execution()).toMatchObject({ state: 'RUNNING' })
  expect(await third.execution()).toMatchObject({ state: 'SKIPPED', reason: 'EXPIRED' })
})

it('a handler that gives no sign of life is taken over, and what it says later does not count', async () => {
  const signals: AbortSignal[] = []
  const silent = implementHandler(work, async (ctx) => {
    signals.push(ctx.signal)
    if (ctx.attempt === 1) await new Promise(() => {})
    return ctx.attempt
  })
  await using carillon = await testCarillonAt(now, { handlers: [silent] })
  const handle = await carillon.enqueue(work, { n: 1 }, { heartbeatTimeoutSec: 10, timeoutSec: 600 })
  await carillon.advance('PT20S')
  expect(await handle.execution()).toMatchObject({ state: 'SUCCEEDED', attempt: 2, result: 2 })
  expect(signals.map((signal) => signal.reason?.code)).toEqual(['TIMED_OUT', undefined])
  expect(carillon.runs()).toMatchObject([{ outcome: 'REFUSED' }, { outcome: 'SUCCEEDED', attempt: 2 }])
})

it('a running one is cancelled', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [waiting] })
  const handle = await carillon.enqueue(wait, { n: 1 })
  await carillon.drain()
  expect(await carillon.cancel(handle.executionId)).toBe('CANCELLING')
  await carillon.drain()
  expect(carillon.runs()).toMatchObject([{ outcome: 'CANCELLED' }])
  expect(await handle.execution()).toMatchObject({ state: 'CANCELLED' })
})

it('FORBID: an occurrence that meets a run which has not ended is skipped', async () => {
  await using carillon = await testCarillonAt(now, { handlers: [waiting] })
  const policy = { timeoutSec: 5_400, retryPolicy: { maxAttempts: 1 } }
  const { jobId } = await carillon.schedule(wait, { n: 1 }, { cron: '0 * * * *', overlap: 'FORBID', ...policy })
  await carillon.advance('PT4H')
  expect(starts(carillon)).toEqual(['2026-01-01T01:00:00.000Z', '2026-01-01T03:00:00.000Z'])
  const executions = await carillon.executionsOf(jobId)
  expect(executions.map(({ state, reason }) => `${state} ${reason}`)).toEqual([
    'SKIPPED OVERLAP',
    'RUNNING null',
    'SKIPPED OVERLAP',
    expect.stringMatching(/^DEAD/),
  ])
})

it('progress goes from one attempt to the next', async () => {
  const resuming = implementHandler(work, async (ctx) => {
    if (ctx.lastProgress !== null) return ctx.lastProgress
    ctx.heartbeat({ done: 40 })
    throw new Error('half-way')
  })
  await using carillon = await testCarillonAt(now, { handlers: [resuming] })
  await carillon.enqueue(work, { n: 1 })
  await carillon.advance('PT2S')
  expect(carillon.runs()).toMatchObject([{ outcome: 'FAILED' }, { outcome: 'SUCCEEDED', result: { done: 40 } }])
})

it('a handler in a thread of its own runs at virtual time too', async () => {
  const apart = implementHandler(work, new URL('./isolated-handler.ts', import.meta.url))
  await using carillon = await testCarillonAt(now, { handlers: [apart] })
  await carillon.enqueue(work, { n: 7 }, { delayMs: 86_400_000 })
  await carillon.advance('P1D')
  const at = '2026-01-02T00:00:00.000Z'
  const result = { n: 7, scheduledFor: at, now: expect.stringMatching(/^2026-01-02T00:00/) }
  expect(carillon.runs()).toMatchObject([{ outcome: 'SUCCEEDED', startedAt: new Date(at), result }])
})

it('a handler that never ends is named', async () => {
  const hanging = implementHandler(work, () => new Promise(() => {}))
  await using carillon = await testCarillonAt(now, { handlers: [hanging], settleMs: 200 })
  await carillon.enqueue(work, { n: 1 })
  await expect(carillon.advance('PT1H')).rejects.toThrow(/the handler work has not ended after 200 ms/)
})
