/** LEASE writes JSON by hand: whatever stands in the ledger must come out of it as it went in. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { submissionId } from '../../packages/server/src/domain/identity.ts'
import { LeasedWork } from '../../packages/server/src/observability/leased-work.ts'
import { lease, leasedExecutions } from '../../packages/server/src/store/executions/lease.ts'
import { submit } from '../../packages/server/src/store/executions/submit.ts'
import { endOf, openStore, type TestStore } from '../support/store.ts'

let store: TestStore
const odd = 'a"b\\c\n%s{}ü😀'
const runAt = Date.now() - 1_000
const plain = { pool: odd, lane: 2, runAt, name: null }

beforeAll(async () => {
  store = await openStore()
})

afterAll(() => store[Symbol.asyncDispose]())

it('gives back what was submitted, with its policies or the defaults, in the order of the slots', async () => {
  const target = { shell: { command: odd, args: ['%', odd] } }
  const retryPolicy = { maxAttempts: 9 }
  const policy = { timeoutSec: 7, cancelGraceSec: 3, heartbeatTimeoutSec: 5, retryPolicy, target }
  const rich = {
    ...{ ...plain, executionId: submissionId(runAt), tenant: odd, handler: odd },
    ...{ payload: JSON.stringify({ [odd]: odd }), labels: { [odd]: odd }, traceparent: odd },
    policy: { ...policy, delivery: 'AT_MOST_ONCE' as const },
  }
  const bare = {
    ...{ ...plain, executionId: submissionId(runAt), tenant: 't', handler: 'h' },
    ...{ payload: null, labels: null, traceparent: null, policy: null },
  }
  await submit(store.database, [rich, bare], [1, 2])
  const slots = [false, true].map((prefetched) => ({ workerId: store.workerId, prefetched }))
  const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: 20 }
  const leased = await lease(store.database, odd, reading, slots)
  expect(leased).toMatchObject([1, 1].map((count) => ({ workerId: store.workerId, lane: 2, count, reached: 2 })))
  const common = {
    pool: odd,
    attempt: 1,
    scheduledFor: runAt,
    dueAt: runAt,
    deadlineAt: null,
    lastProgress: null,
    dag: null,
  }
  const first = leasedExecutions(leased.map(({ executions }) => executions).join(','))
  expect(first).toEqual([
    {
      ...{ ...common, executionId: rich.executionId, jobId: rich.executionId, tenant: odd, handler: odd },
      ...{ fence: expect.any(Number), payload: { [odd]: odd }, labels: { [odd]: odd }, traceparent: odd, target },
      ...{ maxAttempts: 9, timeoutSec: 7, heartbeatTimeoutSec: 5, cancelGraceSec: 3, announceStart: true },
    },
    {
      ...{ ...common, executionId: bare.executionId, jobId: bare.executionId, tenant: 't', handler: 'h' },
      ...{ fence: expect.any(Number), payload: null, labels: {}, traceparent: null, target: null },
      ...{ maxAttempts: 4, timeoutSec: 300, heartbeatTimeoutSec: null, cancelGraceSec: 10, announceStart: false },
    },
  ])
  // The node wrote those texts; what comes back is written by the database.
  await store.settle(first.map((each) => endOf(each, 'HANDED_BACK')))
  await store.fireReturns()
  const again = await lease(store.database, odd, reading, slots)
  const byId = new Map(first.map((each) => [each.executionId, { ...each, fence: expect.any(Number) }]))
  const second = leasedExecutions(again.map(({ executions }) => executions).join(','))
  expect(second).toHaveLength(2)
  for (const each of second) expect(each).toEqual(byId.get(each.executionId))
})

it('is read for figures as a worker reads it: handler and tenant of each fence', async () => {
  const trap = JSON.stringify([{}, { fence: 1, handler: 'other', scheduledFor: 1 }])
  const items = Array.from({ length: 6 }, (_, i) => ({
    ...{
      ...plain,
      pool: 'figures',
      executionId: submissionId(runAt),
      tenant: i % 2 ? odd : 'default',
      handler: `${odd}${i}`,
    },
    ...{ payload: i === 3 ? trap : '1', labels: null, traceparent: null, policy: i > 3 ? { timeoutSec: 9 } : null },
  }))
  await submit(
    store.database,
    items,
    items.map((_, i) => i),
  )
  const slots = items.map((_, i) => ({ workerId: store.workerId, prefetched: i > 2 }))
  const reading = { from: [0, 0, 0, 0], since: [0, 0, 0, 0], turn: 20 }
  const leased = await lease(store.database, 'figures', reading, slots)
  const remembered = new LeasedWork()
  const batches = leased.map((each) => remembered.add('figures', each, runAt + 5))
  const executions = leased.flatMap((each) => leasedExecutions(each.executions))
  expect(executions).toHaveLength(items.length)
  expect(batches.flatMap(({ pickUpMs }) => pickUpMs)).toEqual(items.map(() => 5))
  for (const { fence, handler, tenant } of executions) {
    expect(remembered.take(fence)).toEqual({ work: { tenant, pool: 'figures', handler }, leasedAt: runAt + 5 })
  }
})
