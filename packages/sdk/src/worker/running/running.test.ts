import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { PermanentError, RetryLater } from '../../errors.ts'
import { defineHandler } from '../../handler.ts'
import { handler, startRig } from '../testing/rig.ts'
import { execution, ScriptedTransport } from '../testing/scripted-transport.ts'

describe('a handler', () => {
  test('sees its execution and returns its result', async () => {
    const given = execution({
      payload: { n: 1 },
      attempt: 2,
      lastProgress: { page: 7 },
      labels: { team: 'a' },
      traceparent: '00-x',
      deadlineAt: 4_000_000_000_000,
      timeoutSec: 1_000_000_000_000,
      scheduledFor: 1_000,
      dueAt: 2_000,
    })
    let seen: Record<string, unknown> = {}
    await using rig = await startRig(async ({ log, now, heartbeat, ...ctx }) => {
      log('first')
      heartbeat({ page: 8 })
      const { payload, executionId, jobId, tenant, attempt, maxAttempts, fence } = ctx
      seen = { payload, executionId, jobId, tenant, attempt, maxAttempts, fence, hasNow: now() instanceof Date }
      return { doubled: 2 }
    })
    rig.transport.offer(given)
    const outcome = await rig.transport.outcomeOf(given)
    expect(outcome).toMatchObject({ outcome: 'SUCCEEDED', result: '{"doubled":2}', fence: given.fence, log: ['first'] })
    expect(outcome.finishedAt).toBeGreaterThanOrEqual(outcome.startedAt!)
    const { executionId, jobId, fence } = given
    expect(seen).toEqual({
      payload: { n: 1 },
      executionId,
      jobId,
      tenant: 'default',
      attempt: 2,
      maxAttempts: 4,
      fence,
      hasNow: true,
    })
  })

  test('sees the rest of its context too', async () => {
    const given = execution({
      lastProgress: { page: 7 },
      labels: { team: 'a' },
      traceparent: '00-x',
      deadlineAt: 5_000,
    })
    let seen: unknown
    await using rig = await startRig((ctx) => {
      const { lastProgress, labels, traceparent, scheduledFor, dueAt, deadline, signal } = ctx
      seen = { lastProgress, labels, traceparent, scheduledFor, dueAt, deadline, aborted: signal.aborted }
    })
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED', result: null })
    expect(seen).toEqual({
      lastProgress: { page: 7 },
      labels: { team: 'a' },
      traceparent: '00-x',
      scheduledFor: new Date(0),
      dueAt: new Date(0),
      deadline: new Date(5_000),
      aborted: false,
    })
  })

  const badThenable = {
    // biome-ignore lint/suspicious/noThenProperty: a handler may return any object
    get then() {
      throw new Error('then throws')
    },
  }
  test.each<[string, () => unknown, object]>([
    [
      'throws an error',
      () => Promise.reject(new TypeError('bad')),
      { outcome: 'FAILED', error: { name: 'TypeError' } },
    ],
    [
      'throws before its first await',
      () => {
        throw new Error('at once')
      },
      { outcome: 'FAILED', error: { message: 'at once' } },
    ],
    ['throws undefined', () => Promise.reject(undefined), { outcome: 'FAILED', error: { message: 'Threw undefined' } }],
    ['returns a bad thenable', () => badThenable, { outcome: 'FAILED', error: { message: 'then throws' } }],
    ['asks for later', () => Promise.reject(new RetryLater(500)), { outcome: 'FAILED', retryAfterMs: 500 }],
    ['says it is permanent', () => Promise.reject(new PermanentError('x')), { outcome: 'FAILED', permanent: true }],
    ['returns a function', () => () => 1, { outcome: 'FAILED', permanent: true, error: { name: 'RESULT_INVALID' } }],
    ['returns a BigInt', async () => ({ n: 1n }), { outcome: 'FAILED', error: { name: 'RESULT_INVALID' } }],
    [
      'returns too much',
      async () => 'x'.repeat(300_000),
      { outcome: 'FAILED', permanent: true, error: { name: 'RESULT_TOO_LARGE' } },
    ],
    ['returns null', async () => null, { outcome: 'SUCCEEDED', result: 'null' }],
    ['returns without a promise', () => 7, { outcome: 'SUCCEEDED', result: '7' }],
  ])('that %s', async (_what, run, expected) => {
    const given = execution()
    await using rig = await startRig(run)
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject(expected)
  })

  test('that is unknown hands its execution back', async () => {
    const given = execution({ handler: 'elsewhere' })
    await using rig = await startRig(async () => {})
    rig.transport.offer(given)
    const expected = { outcome: 'HANDED_BACK', reason: 'UNKNOWN_HANDLER', startedAt: null }
    expect(await rig.transport.outcomeOf(given)).toMatchObject(expected)
  })

  test('gets what its schema makes of the payload, also from an asynchronous one', async () => {
    const payload = z.object({ at: z.coerce.date() }).refine(async ({ at }) => at.getTime() >= 0, 'before time')
    const definition = defineHandler({ name: 'test', payload })
    const seen: unknown[] = []
    await using rig = await startRig([
      { definition, run: (ctx) => void seen.push((ctx.payload as { at: Date }).at.getTime()) },
    ])
    const good = execution({ payload: { at: '1970-01-01T00:00:01Z' } })
    const bad = execution({ payload: { at: 'never' } })
    const early = execution({ payload: { at: -5 } })
    rig.transport.offer(good, bad, early)
    expect(await rig.transport.outcomeOf(good)).toMatchObject({ outcome: 'SUCCEEDED' })
    for (const given of [bad, early]) {
      const expected = { outcome: 'FAILED', permanent: true, error: { name: 'PayloadInvalid' } }
      expect(await rig.transport.outcomeOf(given)).toMatchObject(expected)
    }
    expect(seen).toEqual([1_000])
  })

  test('with a result schema keeps what the schema lets through', async () => {
    const result = z.object({ n: z.number() }).transform(({ n }) => ({ n: n + 1 }))
    const definition = defineHandler({ name: 'test', result })
    let answer: unknown = { n: 1 }
    await using rig = await startRig([{ definition, run: async () => answer }])
    const good = execution()
    rig.transport.offer(good)
    expect(await rig.transport.outcomeOf(good)).toMatchObject({ outcome: 'SUCCEEDED', result: '{"n":2}' })
    answer = { n: 'x' }
    const bad = execution()
    rig.transport.offer(bad)
    const expected = { outcome: 'FAILED', permanent: true, error: { name: 'RESULT_INVALID' } }
    expect(await rig.transport.outcomeOf(bad)).toMatchObject(expected)
  })

  test('does not begin before its time by the installation’s clock', async () => {
    const transport = new ScriptedTransport()
    const ahead = transport.serverNow
    transport.serverNow = () => ahead() - 3_600_000
    let begun = 0
    await using rig = await startRig(
      (ctx) => {
        begun = ctx.now().getTime()
      },
      { transport },
    )
    const given = execution({ scheduledFor: Math.ceil(transport.serverNow()) + 120 })
    transport.offer(given)
    const outcome = await rig.transport.outcomeOf(given)
    expect(begun).toBeGreaterThanOrEqual(given.scheduledFor)
    expect(outcome.startedAt).toBeGreaterThanOrEqual(given.scheduledFor)
  })
})

describe('completeIn', () => {
  test('completes in the handler’s transaction and the return value is ignored', async () => {
    const calls: unknown[] = []
    const given = execution()
    await using rig = await startRig(
      async (ctx) => {
        await ctx.completeIn('tx', { n: 1 })
        return 'ignored'
      },
      { completeIn: async (tx, completion) => void calls.push([tx, completion]) },
    )
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'COMPLETED_IN_TRANSACTION' })
    expect(calls).toEqual([['tx', { executionId: given.executionId, fence: given.fence, result: '{"n":1}' }]])
  })

  test('followed by a throw is a failure', async () => {
    const given = execution()
    await using rig = await startRig(
      async (ctx) => {
        await ctx.completeIn('tx')
        throw new Error('rolled back')
      },
      { completeIn: async () => {} },
    )
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'FAILED', error: { message: 'rolled back' } })
  })

  test('throws where the worker has none', async () => {
    const given = execution()
    await using rig = await startRig((ctx) => ctx.completeIn('tx'))
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'FAILED', error: { name: 'CarillonError' } })
  })
})

describe('slots', () => {
  test('are never exceeded, per handler nor with prefetch, and nothing is lost', async () => {
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    const counted = (name: string, concurrency: number) =>
      handler(
        async () => {
          const now = (running.get(name) ?? 0) + 1
          running.set(name, now)
          most.set(name, Math.max(now, most.get(name) ?? 0))
          await new Promise(setImmediate)
          running.set(name, now && running.get(name)! - 1)
        },
        { name, concurrency },
      )
    await using rig = await startRig([counted('a', 3), counted('b', 2)], { prefetch: 4 })
    const { transport } = rig
    const given = Array.from({ length: 500 }, (_, n) => execution({ handler: n % 3 === 0 ? 'b' : 'a' }))
    transport.offer(...given)
    await transport.until(() => transport.outcomes.size === given.length)
    expect(Object.fromEntries(most)).toEqual({ a: 3, b: 2 })
    expect([...transport.outcomes.values()].every(({ outcome }) => outcome === 'SUCCEEDED')).toBe(true)
    for (const { slots, prefetch } of transport.leases) expect(slots + prefetch).toBeLessThanOrEqual(9)
    expect(transport.announcements[0]!.pools).toEqual([{ pool: 'default', handlers: ['a', 'b'], slots: 5 }])
  })

  test('of a busy handler do not hold up another, and its queue is first in first out', async () => {
    const gate = Promise.withResolvers<void>()
    const order: string[] = []
    const slow = handler(
      async (ctx) => {
        order.push(ctx.executionId)
        await gate.promise
      },
      { name: 'slow', concurrency: 1 },
    )
    const fast = handler(async () => {}, { name: 'fast', concurrency: 1 })
    await using rig = await startRig([slow, fast], { prefetch: 10 })
    const slowOnes = [1, 2, 3].map(() => execution({ handler: 'slow' }))
    const fastOne = execution({ handler: 'fast' })
    rig.transport.offer(...slowOnes, fastOne)
    await rig.transport.outcomeOf(fastOne)
    expect(order).toHaveLength(1)
    expect(rig.worker.stats()).toMatchObject({ prefetched: 2, running: 1 })
    gate.resolve()
    await rig.worker.onIdle()
    expect(order).toEqual(slowOnes.map(({ executionId }) => executionId))
  })

  test('and prefetch bound what is held while handlers do not end', async () => {
    const gate = Promise.withResolvers<void>()
    await using rig = await startRig([handler(() => gate.promise, { concurrency: 2 })], { prefetch: 3 })
    const given = Array.from({ length: 20 }, () => execution())
    rig.transport.offer(...given)
    await rig.transport.until(() => rig.transport.leases.length >= 1)
    await new Promise(setImmediate)
    expect(rig.worker.stats()).toMatchObject({ running: 2, prefetched: 3 })
    gate.resolve()
    await rig.transport.until(() => rig.transport.outcomes.size === given.length)
  })
})

test('the same handler twice, or one without code, is refused', async () => {
  const twice = [handler(() => 1), handler(() => 2)]
  await expect(startRig(twice)).rejects.toThrow(/registered twice/)
  await expect(startRig([{ definition: defineHandler({ name: 'x' }) }])).rejects.toThrow(/its code is missing/)
  await expect(startRig([handler(() => 1, { concurrency: 0 })])).rejects.toThrow(/concurrency/)
  await expect(startRig([handler(() => 1, { isolation: 'THREAD' })])).rejects.toThrow(/module/)
})
