import { describe, expect, test } from 'vitest'
import type { AbortReason } from '../../errors.ts'
import { aborted, handler, startRig, Tally } from '../testing/rig.ts'
import { execution } from '../testing/scripted-transport.ts'

const brief = { timeoutSec: 0.05, cancelGraceSec: 0.05 }

describe('a timeout', () => {
  test('aborts the handler, which ends TIMED_OUT whether it throws or returns', async () => {
    const reasons: unknown[] = []
    await using rig = await startRig(async (ctx) => {
      reasons.push(((await aborted(ctx.signal)) as AbortReason).code)
      if (ctx.payload === 'throw') ctx.signal.throwIfAborted()
    })
    const throws = execution({ ...brief, cancelGraceSec: 60, payload: 'throw' })
    const returns = execution({ ...brief, cancelGraceSec: 60, payload: 'return' })
    rig.transport.offer(throws, returns)
    for (const given of [throws, returns]) {
      const expected = { outcome: 'TIMED_OUT', error: { name: 'TimedOut', message: expect.stringContaining('0.05 s') } }
      expect(await rig.transport.outcomeOf(given)).toMatchObject(expected)
    }
    expect(reasons).toEqual(['TIMED_OUT', 'TIMED_OUT'])
    expect(rig.worker.stats().runaways).toBe(0)
  })

  test('of a handler that goes on is reported after the grace, and its slot is free', async () => {
    const gate = Promise.withResolvers<void>()
    await using rig = await startRig([
      handler((ctx) => (ctx.payload === 'hang' ? gate.promise : undefined), { concurrency: 1 }),
    ])
    const hangs = execution({ ...brief, payload: 'hang' })
    const next = execution()
    rig.transport.offer(hangs, next)
    expect(await rig.transport.outcomeOf(hangs)).toMatchObject({ outcome: 'TIMED_OUT' })
    expect(await rig.transport.outcomeOf(next)).toMatchObject({ outcome: 'SUCCEEDED' })
    expect(rig.worker.stats().runaways).toBe(1)
    gate.resolve()
    await new Promise(setImmediate)
    expect(rig.worker.stats().runaways).toBe(0)
    expect(rig.transport.reports.flatMap(({ outcomes }) => outcomes)).toHaveLength(2)
  })

  test('by the deadline over all attempts, or by silence, is one too', async () => {
    await using rig = await startRig((ctx) => aborted(ctx.signal))
    const late = execution({ deadlineAt: 1_000 })
    const silent = execution({ heartbeatTimeoutSec: 0.05 })
    rig.transport.offer(late, silent)
    const message = (text: string) => ({ outcome: 'TIMED_OUT', error: { message: expect.stringContaining(text) } })
    expect(await rig.transport.outcomeOf(late)).toMatchObject(message('deadline'))
    expect(await rig.transport.outcomeOf(silent)).toMatchObject(message('sign of life'))
  })

  test('does not come while the handler gives signs of life', async () => {
    await using rig = await startRig(async (ctx) => {
      const end = performance.now() + 300
      while (performance.now() < end) {
        ctx.heartbeat()
        await new Promise(setImmediate)
      }
      return 'alive'
    })
    const given = execution({ heartbeatTimeoutSec: 0.2 })
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED' })
  })
})

describe('a cancellation', () => {
  test.each(['pushed', 'in an answer'])('%s aborts; a throw is CANCELLED, a return is a success', async (way) => {
    const begun = new Tally()
    await using rig = await startRig(
      async (ctx) => {
        begun.add(ctx.executionId)
        await aborted(ctx.signal)
        if (ctx.payload === 'throw') throw new Error('stopped')
        return 'done anyway'
      },
      { reportEveryMs: 20 },
    )
    const throws = execution({ payload: 'throw' })
    const returns = execution({ payload: 'return' })
    rig.transport.offer(throws, returns)
    await begun.reached(2)
    for (const { executionId, fence } of [throws, returns]) {
      const cancellation = { executionId, fence, reason: 'CANCELLED' } as const
      // One under another fence is not meant for this attempt.
      rig.transport.cancel({ ...cancellation, fence: fence - 1_000 })
      if (way === 'pushed') rig.transport.cancel(cancellation)
      else rig.transport.cancellations.push(cancellation)
    }
    expect(await rig.transport.outcomeOf(throws)).toMatchObject({ outcome: 'CANCELLED', error: { message: 'stopped' } })
    expect(await rig.transport.outcomeOf(returns)).toMatchObject({ outcome: 'SUCCEEDED' })
  })

  test('of a handler that does not listen is reported after the grace', async () => {
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    await using rig = await startRig(() => {
      begun.resolve()
      return gate.promise
    })
    const given = execution({ cancelGraceSec: 0.05 })
    rig.transport.offer(given)
    await begun.promise
    rig.transport.cancel({ executionId: given.executionId, fence: given.fence, reason: 'CANCELLED' })
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'CANCELLED' })
    gate.resolve()
  })

  test('of one that has not begun keeps it from beginning', async () => {
    const gate = Promise.withResolvers<void>()
    const begun = new Tally()
    const run = (ctx: { executionId: string }) => {
      begun.add(ctx.executionId)
      return gate.promise
    }
    await using rig = await startRig([handler(run, { concurrency: 1 })], { prefetch: 2 })
    const first = execution()
    const second = execution()
    const third = execution()
    rig.transport.offer(first, second, third)
    await begun.reached(1)
    rig.transport.cancel({ executionId: second.executionId, fence: second.fence, reason: 'CANCELLED' })
    expect(await rig.transport.outcomeOf(second)).toMatchObject({ outcome: 'CANCELLED', startedAt: null })
    gate.resolve()
    await rig.transport.outcomeOf(third)
    expect(begun.names).toEqual([first.executionId, third.executionId])
  })
})

describe('a lost lease', () => {
  test.each(['named lost in an answer', 'pushed'])('%s aborts and drops the outcome', async (way) => {
    const reason = Promise.withResolvers<unknown>()
    const begun = Promise.withResolvers<void>()
    await using rig = await startRig(
      async (ctx) => {
        begun.resolve()
        reason.resolve(await aborted(ctx.signal))
        return 'too late'
      },
      { reportEveryMs: 20 },
    )
    const given = execution()
    const key = { executionId: given.executionId, fence: given.fence }
    rig.transport.offer(given)
    await begun.promise
    if (way === 'pushed') rig.transport.cancel({ ...key, reason: 'LEASE_LOST' })
    else rig.transport.lost.push(key)
    expect(await reason.promise).toMatchObject({ code: 'LEASE_LOST', name: 'AbortError' })
    await rig.worker.onIdle()
    await rig.worker.stop()
    expect(rig.transport.reports.flatMap(({ outcomes }) => outcomes)).toEqual([])
  })

  test('of an execution that is leased again under a later fence leaves the new attempt alone', async () => {
    const outcomes: unknown[] = []
    const attempts = new Tally()
    await using rig = await startRig(async (ctx) => {
      attempts.add(String(ctx.attempt))
      if (ctx.attempt === 1) outcomes.push(await aborted(ctx.signal))
      return ctx.attempt
    })
    const first = execution()
    rig.transport.offer(first)
    await attempts.reached(1)
    rig.transport.offer({ ...first, attempt: 2, fence: execution().fence })
    expect(await rig.transport.outcomeOf(first)).toMatchObject({ outcome: 'SUCCEEDED', result: '2' })
    expect(outcomes).toMatchObject([{ code: 'LEASE_LOST' }])
  })

  test('shows in a refused outcome, which is counted and given up', async () => {
    await using rig = await startRig(async () => {})
    const given = execution()
    rig.transport.refusedFences.add(given.fence)
    rig.transport.offer(given)
    await rig.transport.until(() => rig.transport.reports.some(({ outcomes }) => outcomes.length > 0))
    await rig.worker.onIdle()
    expect(rig.worker.stats().refused).toBe(1)
  })
})
