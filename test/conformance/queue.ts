/** What every queue must do, however a node comes to know what is ready. `ready` in PostgreSQL is the truth of all of them. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { submissionId } from '../../packages/server/src/domain/identity.ts'
import type { Clock } from '../../packages/server/src/lib/clock.ts'
import type { PoolQueue, Selection } from '../../packages/server/src/queue/port.ts'
import { lease, leasedExecutions } from '../../packages/server/src/store/executions/lease.ts'
import { submit } from '../../packages/server/src/store/executions/submit.ts'
import { openStore, type TestStore } from '../support/store.ts'
import { until } from '../support/until.ts'

/** The queue of a pool as a node has it that begins to serve it. `clock` may be ahead of the machine's. */
export interface QueueSubject {
  queue: PoolQueue
  /** Frees what it holds after a test. */
  dispose(): Promise<void>
}
export type MakeQueue = (store: TestStore, pool: string, clock: Clock) => Promise<QueueSubject>

const [critical, normal] = [0, 2]

export function describeQueue(name: string, make: MakeQueue): void {
  describe(`the queue of ${name}`, () => {
    let store: TestStore
    let pool: string
    let pools = 0
    let subjects: QueueSubject[]
    let passedMs: number
    const clock = { now: () => Date.now() + passedMs }

    beforeAll(async () => {
      store = await openStore()
    })
    afterAll(() => store[Symbol.asyncDispose]())
    beforeEach(() => {
      pool = `pool-${++pools}`
      subjects = []
      passedMs = 0
    })
    afterEach(async () => {
      for (const subject of subjects) await subject.dispose()
    })

    async function open(): Promise<PoolQueue> {
      const subject = await make(store, pool, clock)
      subjects.push(subject)
      return subject.queue
    }

    /** Writes so many to the pool; answers their ids, smallest tag first. */
    async function become(count: number, { lane = normal, hint = subjects.map((each) => each.queue) } = {}) {
      const at = Date.now()
      const items = Array.from({ length: count }, () => ({
        ...{ executionId: submissionId(at), tenant: 'acme', name: null, pool, lane, handler: 'h', runAt: at },
        ...{ payload: null, policy: null, labels: null, traceparent: null },
      }))
      const tags = items.map(() => store.tag())
      await submit(store.database, items, tags)
      for (const queue of hint) queue.hint(lane, tags[0]!)
      return items.map(({ executionId }) => executionId)
    }

    /** One LEASE by a selection; null: there was none. */
    async function leaseBy(queue: PoolQueue, count: number): Promise<string[] | null> {
      const selection = queue.select(count)
      if (selection === null) return null
      const leased = await leaseOf(selection, count)
      queue.settled(selection, leased, true)
      return leased.flatMap(({ executions }) => leasedExecutions(executions)).map(({ executionId }) => executionId)
    }

    function leaseOf({ reading, only }: Selection, count: number) {
      const slots = Array.from({ length: count }, () => ({ workerId: store.workerId, prefetched: false }))
      return lease(store.database, pool, reading, slots, only ?? undefined)
    }

    /** Leases again and again until these have come, each once. */
    async function leaseAll(wanted: string[], queues: PoolQueue[], count: number): Promise<string[]> {
      const got: string[] = []
      await until(async () => {
        for (const queue of queues) got.push(...((await leaseBy(queue, count)) ?? []))
        return got.length >= wanted.length
      })
      expect(got.toSorted()).toEqual(wanted.toSorted())
      return got
    }

    it('names what is ready, smaller tags first, and no more than is asked for', async () => {
      const queue = await open()
      const ids = await become(25)
      expect(await leaseAll(ids, [queue], 10)).toEqual(ids)
    })

    it('names what became ready before the node began to serve the pool', async () => {
      const ids = await become(5)
      await leaseAll(ids, [await open()], 10)
    })

    it('gives each execution to one of several nodes', async () => {
      const queues = [await open(), await open(), await open()]
      const ids = await become(60)
      await leaseAll(ids, queues, 7)
    })

    it('names again what a failed LEASE was to take', async () => {
      const queue = await open()
      const ids = await become(5)
      let selection: Selection | null = null
      await until(() => {
        selection = queue.select(3)
        return selection !== null
      })
      queue.abandoned(selection!)
      await leaseAll(ids, [queue], 10)
    })

    it('goes on although what it named was taken or cancelled meanwhile', async () => {
      const queue = await open()
      const gone = await become(5)
      let selection: Selection | null = null
      await until(() => {
        selection = queue.select(5)
        return selection !== null
      })
      await store.database.query(null, 'delete from carillon.ready where execution_id = any ($1)', [gone])
      queue.settled(selection!, await leaseOf(selection!, 5), true)
      await leaseAll(await become(3), [queue], 10)
    })

    it('finds without a hint what became ready behind its position', async () => {
      const queue = await open()
      await leaseAll(await become(3), [queue], 10)
      const ids = await become(2, { hint: [] })
      passedMs = 61_000
      await leaseAll(ids, [queue], 10)
    })

    it('has higher lanes leased first, and lower ones not starved', async () => {
      const queue = await open()
      const [high, low] = [await become(60, { lane: critical }), await become(10)]
      const order = await leaseAll([...high, ...low], [queue], 10)
      const firstLow = order.findIndex((id) => low.includes(id))
      expect(firstLow).toBeGreaterThan(0)
      expect(firstLow).toBeLessThan(50)
    })

    it('for a hand-over it names a place that the submitted execution is found from', async () => {
      const queue = await open()
      await leaseAll(await become(3), [queue], 10)
      const selection = queue.selectNearby()
      const [id] = await become(1)
      const [leased] = await leaseOf(selection, 1)
      expect(leased?.executions).toContain(id)
      queue.settled(selection, leased ? [leased] : [], true)
    })
  })
}
