import { setTimeout as after } from 'node:timers/promises'
import { defineHandler, ExecutionFailed, PermanentError, RetryLater } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'

const echo = defineHandler<{ value: unknown }>({ name: 'echo' })
const failing = defineHandler<{ times: number; how: 'throw' | 'never' | 'later' | 'named' }>({ name: 'failing' })
const stubborn = defineHandler<{ listens: boolean }>({ name: 'stubborn' })
const reporting = defineHandler<{ failFirst: boolean }>({ name: 'reporting' })
const counted = defineHandler<Record<string, never>>({ name: 'counted' })

let test: TestCarillon
const progressSeen: unknown[] = []
const begun = new Map<string, () => void>()
let countedRuns = 0

beforeAll(async () => {
  test = await testCarillon((carillon) => {
    carillon.handle(echo, async (ctx) => {
      ctx.log('a line')
      return ctx.payload.value
    })
    carillon.handle(failing, async (ctx) => {
      if (ctx.attempt > ctx.payload.times) return `succeeded in attempt ${ctx.attempt}`
      if (ctx.payload.how === 'never') throw new PermanentError('no use')
      if (ctx.payload.how === 'later') throw new RetryLater(10, 'soon')
      const error = new Error('it broke')
      if (ctx.payload.how === 'named') error.name = 'CardDeclined'
      throw error
    })
    carillon.handle(stubborn, { concurrency: 20 }, async (ctx) => {
      begun.get(ctx.executionId)?.()
      await new Promise((resolve, reject) => {
        if (ctx.payload.listens) ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
        else after(60_000, undefined, { ref: false }).then(resolve)
      })
    })
    carillon.handle(reporting, async (ctx) => {
      progressSeen.push(ctx.lastProgress)
      await ctx.heartbeat({ step: ctx.attempt })
      if (ctx.payload.failFirst && ctx.attempt === 1) throw new Error('after the heartbeat')
      return 'done'
    })
    carillon.handle(counted, async () => ++countedRuns)
  }, quickTimes)
})
afterAll(() => test[Symbol.asyncDispose]())

const quick = { initialDelayMs: 5, jitter: 0 }

describe('how an execution ends', () => {
  it('keeps result, log and times of one that succeeds', async () => {
    const handle = await test.carillon.enqueue(echo, { value: { a: [1, 'ä', null] } }, { labels: { team: 'x' } })
    const execution = await handle.ended({ waitMs: 10_000 })
    expect(execution).toMatchObject({
      state: 'SUCCEEDED',
      result: { a: [1, 'ä', null] },
      attempt: 1,
      origin: 'SUBMIT',
      labels: { team: 'x' },
    })
    expect(await test.carillon.logs(execution.executionId)).toEqual([
      { at: execution.finishedAt!.toISOString(), attempt: 1, text: 'a line' },
    ])
    expect(execution.jobId).toBe(execution.executionId)
    expect(execution.fence).toBeGreaterThan(0)
    expect(execution.finishedAt!.getTime()).toBeGreaterThanOrEqual(execution.startedAt!.getTime())
  })

  it('carries NUL bytes and lone surrogates to the handler and back', async () => {
    const value = 'a\u0000b\ud800c'
    const handle = await test.carillon.enqueue(echo, { value })
    expect(await handle.result({ waitMs: 10_000 })).toBe(value)
  })

  it('tries again until it succeeds, and keeps what happened', async () => {
    const handle = await test.carillon.enqueue(failing, { times: 2, how: 'throw' }, { retryPolicy: quick })
    const execution = await handle.ended({ waitMs: 10_000 })
    expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 3, result: 'succeeded in attempt 3' })
    expect(execution.attempts.map((a) => [a.to, a.attempt, a.error?.message])).toEqual([
      ['FAILED', 1, 'it broke'],
      ['FAILED', 2, 'it broke'],
    ])
  })

  it('keeps the first and the newest of very many attempts', async () => {
    const retryPolicy = { maxAttempts: 100, initialDelayMs: 0, jitter: 0 }
    const handle = await test.carillon.enqueue(failing, { times: 60, how: 'throw' }, { retryPolicy })
    const execution = await handle.ended({ waitMs: 20_000 })
    expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 61 })
    const kept = execution.attempts.map((a) => a.attempt)
    expect(kept).toEqual([
      ...Array.from({ length: 10 }, (_, i) => i + 1),
      ...Array.from({ length: 40 }, (_, i) => i + 21),
    ])
  })

  it('is dead when its attempts are used up, and lives again when replayed', async () => {
    const handle = await test.carillon.enqueue(
      failing,
      { times: 2, how: 'throw' },
      { retryPolicy: { ...quick, maxAttempts: 2 } },
    )
    await expect(handle.result({ waitMs: 10_000 })).rejects.toThrow(ExecutionFailed)
    expect(await handle.execution()).toMatchObject({ state: 'DEAD', reason: 'ATTEMPTS_USED_UP', attempt: 2 })
    expect((await test.carillon.deadLetters()).map((e) => e.executionId)).toContain(handle.executionId)
    await test.carillon.replay(handle.executionId)
    // It fails twice again, with attempts counted anew.
    const again = await handle.ended({ waitMs: 10_000 })
    expect(again).toMatchObject({ state: 'DEAD', attempt: 2 })
    expect(again.attempts).toHaveLength(4)
  })

  it('is dead at once when the handler says so', async () => {
    const handle = await test.carillon.enqueue(failing, { times: 9, how: 'never' })
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'DEAD', reason: 'NOT_RETRYABLE', attempt: 1 })
  })

  it('is dead at once for an error that is not retryable', async () => {
    const retryPolicy = { ...quick, nonRetryableErrors: ['CardDeclined'] }
    const handle = await test.carillon.enqueue(failing, { times: 9, how: 'named' }, { retryPolicy })
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'DEAD', reason: 'NOT_RETRYABLE' })
  })

  it('waits as long as the handler asked', async () => {
    const retryPolicy = { initialDelayMs: 600_000 }
    const handle = await test.carillon.enqueue(failing, { times: 1, how: 'later' }, { retryPolicy })
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
  })

  it.each([true, false])('is TIMED_OUT past its time, whether or not the handler listens (%s)', async (listens) => {
    const handle = await test.carillon.enqueue(
      stubborn,
      { listens },
      { timeoutSec: 0.1, cancelGraceSec: 0, retryPolicy: { maxAttempts: 1 } },
    )
    const execution = await handle.ended({ waitMs: 10_000 })
    expect(execution).toMatchObject({ state: 'DEAD', reason: 'ATTEMPTS_USED_UP' })
    expect(execution.attempts[0]!.to).toBe('TIMED_OUT')
  })

  it.each([true, false])('is CANCELLED while it runs, whether or not the handler listens (%s)', async (listens) => {
    const started = Promise.withResolvers<void>()
    const handle = await test.carillon.enqueue(stubborn, { listens }, { cancelGraceSec: 0, delayMs: 200 })
    begun.set(handle.executionId, started.resolve)
    await started.promise
    expect(await test.carillon.cancel(handle.executionId)).toBe('CANCELLING')
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED' })
  })

  it('never starts when cancelled before', async () => {
    const before = countedRuns
    const future = await test.carillon.enqueue(counted, {}, { delayMs: 60_000 })
    expect(await test.carillon.cancel(future.executionId)).toBe('CANCELLED')
    expect(await test.carillon.cancel(future.executionId)).toBe('ENDED')
    expect(await future.execution()).toMatchObject({ state: 'CANCELLED', reason: 'CANCELLED' })
    const handle = await test.carillon.enqueue(
      failing,
      { times: 1, how: 'throw' },
      { retryPolicy: { initialDelayMs: 600_000 } },
    )
    while ((await handle.execution())?.state !== 'FAILED') await after(5)
    expect(await test.carillon.cancel(handle.executionId)).toBe('CANCELLED')
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'CANCELLED', attempt: 1 })
    expect(await test.carillon.cancel(handle.executionId)).toBe('ENDED')
    expect(countedRuns).toBe(before)
  })

  it('gives the next attempt the progress of the last', async () => {
    const handle = await test.carillon.enqueue(reporting, { failFirst: true }, { retryPolicy: quick })
    expect(await handle.result({ waitMs: 10_000 })).toBe('done')
    expect(progressSeen).toEqual([null, { step: 1 }])
  })

  it('is not tried again with AT_MOST_ONCE', async () => {
    const handle = await test.carillon.enqueue(failing, { times: 1, how: 'throw' }, { delivery: 'AT_MOST_ONCE' })
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'DEAD', reason: 'NOT_RETRYABLE', attempt: 1 })
  })

  it('ends at its deadline, over all attempts', async () => {
    const handle = await test.carillon.enqueue(
      stubborn,
      { listens: true },
      { deadlineSec: 1, cancelGraceSec: 0, retryPolicy: quick },
    )
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'DEAD', reason: 'DEADLINE' })
  })
})
