/** What never began never uses an attempt, whatever ended the wait: every way in which a lease can end, both deliveries. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../packages/server/src/store/executions/cancel.ts'
import { beginHandlers } from '../../packages/server/src/store/executions/worker-news.ts'
import type { StoredPolicy } from '../../packages/server/src/store/rows.ts'
import { atOnce, lostMs, openSwept, type Swept } from '../integration/upkeep/swept.ts'
import { endOf } from '../support/store.ts'

let swept: Swept
beforeAll(async () => {
  swept = await openSwept()
})
afterAll(() => swept[Symbol.asyncDispose]())

type Lease = Awaited<ReturnType<Swept['leased']>>
type Way = [string, (held: Lease, worker: string) => Promise<void>, { state: string; reason: string | null }]

const comesBack = { state: 'PENDING', reason: expect.any(String) as unknown as string }
const once: StoredPolicy = { ...atOnce, retryPolicy: { ...atOnce.retryPolicy, maxAttempts: 1 }, timeoutSec: 60 }
const ways: Way[] = [
  [
    'its time ran out',
    async () => {
      await swept.age(70_000)
      await swept.sweep()
    },
    comesBack,
  ],
  [
    'its worker was lost',
    async (_, worker) => {
      await swept.silence(worker, lostMs + 1)
      await swept.sweep()
    },
    comesBack,
  ],
  [
    'it was cancelled, and its worker did not say so within the grace',
    async ({ executionId }) => {
      await cancel(swept.store.database, [executionId], { reason: 'CANCELLED', actor: 'a person' })
      await swept.age(70_000)
      await swept.sweep()
    },
    { state: 'CANCELLED', reason: 'CANCELLED' },
  ],
  [
    'it was cancelled, and its worker says so',
    async ({ executionId, fence }) => {
      await cancel(swept.store.database, [executionId], { reason: 'CANCELLED', actor: 'a person' })
      await said({ executionId, fence, startedAt: null, finishedAt: 0, outcome: 'CANCELLED' })
    },
    { state: 'CANCELLED', reason: 'CANCELLED' },
  ],
  [
    'its deadline passed, and its worker did not say so within the grace',
    async ({ executionId }) => {
      await cancel(swept.store.database, [executionId], { reason: 'DEADLINE', actor: 'sweeper' })
      await swept.age(70_000)
      await swept.sweep()
    },
    { state: 'DEAD', reason: 'DEADLINE' },
  ],
  [
    'its worker says that its time ran out before it began',
    ({ executionId, fence }) =>
      said({
        ...{ executionId, fence, startedAt: null, finishedAt: 0, outcome: 'TIMED_OUT' },
        error: { name: 'TimedOut', message: 'never began' },
      }),
    comesBack,
  ],
  [
    'its worker hands it back',
    ({ executionId, fence }) =>
      said({ executionId, fence, startedAt: null, finishedAt: 0, outcome: 'HANDED_BACK', reason: 'NOT_STARTED' }),
    comesBack,
  ],
  [
    'its worker left',
    async ({ executionId, fence }) => {
      const outcome = { outcome: 'HANDED_BACK', reason: 'SHUTDOWN', began: false } as const
      await swept.store.completion.end({ executionId, fence, actor: 'node', from: 'NODE', said: outcome })
    },
    comesBack,
  ],
]

async function said(
  outcome: Parameters<Swept['store']['completion']['end']>[0]['said'] & { executionId: string; fence: number },
): Promise<void> {
  const { executionId, fence } = outcome
  await swept.store.completion.end({ executionId, fence, actor: 'worker', from: 'WORKER', said: outcome as never })
}

describe.each([
  ['a single attempt', once],
  ['AT_MOST_ONCE', { ...once, delivery: 'AT_MOST_ONCE' } as StoredPolicy],
])('an execution with %s that never began', (_, policy) => {
  it.each(ways)('uses no attempt when %s', async (_, ends, shown) => {
    const worker = await swept.worker()
    const held = await swept.leased(worker, policy, true)
    await ends(held, worker)
    expect(await swept.execution(held.executionId)).toMatchObject({ ...shown, attempt: 0 })
    if (shown !== comesBack) return
    const again = await swept.leasedAgain(await swept.worker())
    expect(again).toMatchObject({ executionId: held.executionId, attempt: 1 })
    expect((await swept.store.report([endOf(again)])).verdicts).toEqual(['ACCEPTED'])
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  })
})

it('AT_MOST_ONCE comes back however often, because nothing begins before it was announced', async () => {
  await swept.store.submit(1, { ...once, delivery: 'AT_MOST_ONCE' })
  for (let times = 1; times <= 5; times++) {
    const held = await swept.leasedAgain(await swept.worker())
    await swept.age(70_000)
    await swept.sweep()
    expect(await swept.execution(held.executionId)).toMatchObject({ state: 'PENDING', attempt: 0 })
  }
  await swept.store.report([endOf(await swept.leasedAgain(await swept.worker()))])
})

it('what begins while the sweeper takes it for overdue goes on, and its time runs from there', async () => {
  const held = await swept.leased(await swept.worker(), once, true)
  const { executionId, fence } = held
  await swept.age(70_000)
  await beginHandlers(swept.store.database, [held])
  const late = { outcome: 'TIMED_OUT', began: false } as const
  const end = { executionId, fence, actor: 'sweeper', from: 'NODE', said: late } as const
  expect(await swept.store.completion.end(end)).toBe('BUSY')
  await swept.sweep()
  expect(await swept.execution(executionId)).toMatchObject({ state: 'RUNNING', fence })
  expect((await swept.store.report([endOf(held)])).verdicts).toEqual(['ACCEPTED'])
})
