/** CANCEL against LEASE: an execution is leased or cancelled; if both, the worker is told. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { expireDue } from '../../../packages/server/src/store/workers/sweep.ts'
import { endOf, openStore, type TestStore } from '../../support/store.ts'
import { raceTimeoutMs, rounds, shuffled } from './rounds.ts'

const why = { reason: 'ASKED', actor: 'test' }

describe('a cancel', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(() => store[Symbol.asyncDispose]())

  it('and two leases of the same executions: each is cancelled or flagged, never lost', async () => {
    await rounds(store, async (n) => {
      const ids = await store.submit(20)
      const [first, second, cancelled] = await Promise.all([
        store.lease(12),
        store.lease(12),
        cancel(store.database, shuffled(ids), why),
      ])
      const leased = new Map([...first, ...second].map((lease) => [lease.executionId, lease]))
      expect(cancelled).toHaveLength(20)
      for (const { executionId, verdict, fence } of cancelled) {
        expect(verdict).toBe(leased.has(executionId) ? 'FLAGGED' : 'CANCELLED')
        expect(fence).toBe(leased.get(executionId)?.fence ?? null)
      }
      // What runs obeys: it ends as CANCELLED unless it had succeeded.
      const outcome = n % 2 ? 'SUCCEEDED' : 'FAILED'
      await store.settle([...leased.values()].map((lease) => endOf(lease, outcome)))
      const states = await store.database.query<{ state: string }>(
        null,
        'select distinct state from carillon.executions where execution_id = any ($1)',
        [[...leased.keys()]],
      )
      for (const { state } of states) expect(state).toBe(n % 2 ? 'SUCCEEDED' : 'CANCELLED')
    })
  })

  it('and a lease that finds start windows over, and the sweeper who does too', async () => {
    await rounds(store, async () => {
      const late = await store.submit(10, { startWithinSec: 1 }, Date.now() - 5_000)
      const ids = shuffled([...late, ...(await store.submit(10))])
      const [leases, cancelled] = await Promise.all([
        store.lease(20),
        cancel(store.database, ids, why),
        expireDue(store.database, 100),
      ])
      expect(leases.filter((lease) => late.includes(lease.executionId))).toEqual([])
      expect(cancelled).toHaveLength(20)
      await store.settle(leases.map((lease) => endOf(lease)))
      const open = await store.database.query(null, 'select execution_id from carillon.executions where state is null')
      expect(open).toEqual([])
    })
  })

  it('by two callers, in opposite order, while executions are leased, reported and come back', async () => {
    await rounds(store, async () => {
      const ids = await store.submit(20)
      const failed = (await store.lease(10)).map((lease) => endOf(lease, 'FAILED'))
      await store.settle(failed.slice(0, 5))
      const [one, other] = await Promise.all([
        cancel(store.database, ids, why),
        cancel(store.database, ids.toReversed(), why),
        store.settle(failed.slice(5).toReversed()),
        store.fireReturns(),
        store.lease(8),
      ])
      const ended = [...one, ...other].filter((answer) => answer.verdict === 'CANCELLED')
      expect(new Set(ended.map((answer) => answer.executionId)).size, 'ended twice').toBe(ended.length)
      expect(one.length + other.length).toBe(40)
    })
  })
})
