/** LEASE writes JSON by hand: whatever stands in the ledger must come out of it as it went in. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { submissionId } from '../../packages/server/src/domain/identity.ts'
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
  const common = { pool: odd, attempt: 1, scheduledFor: runAt, dueAt: runAt, deadlineAt: null, lastProgress: null }
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
