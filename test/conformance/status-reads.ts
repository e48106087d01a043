/** What every version of status reads must do, whatever it answers from. Executions live in PostgreSQL with all of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../packages/server/src/domain/identity.ts'
import type { StatusReads } from '../../packages/server/src/status-reads/port.ts'
import { cancel } from '../../packages/server/src/store/executions/cancel.ts'
import { replay } from '../../packages/server/src/store/executions/replay.ts'
import { endOf, openStore, type TestStore, tenant } from '../support/store.ts'
import { until } from '../support/until.ts'

export type MakeStatusReads = (store: TestStore) => Promise<{ reads: StatusReads; dispose(): Promise<void> }>

/** For a machine with other things to do. */
const patienceMs = 10_000

export function describeStatusReads(name: string, make: MakeStatusReads): void {
  describe(`status reads from ${name}`, () => {
    let store: TestStore
    let reads: StatusReads
    let dispose: () => Promise<void>

    beforeAll(async () => {
      store = await openStore()
      const made = await make(store)
      reads = made.reads
      dispose = made.dispose
    })
    afterAll(async () => {
      await dispose()
      await store[Symbol.asyncDispose]()
    })

    const key = (executionId: string) => ({ tenant, executionId })
    const stateOf = async (executionId: string) => (await reads.find(key(executionId)))?.state

    /** What is current says so at once, and what may be older after its time. */
    async function expectState(executionId: string, state: string): Promise<void> {
      expect(await reads.findCurrent(key(executionId))).toMatchObject({ executionId, tenant, state })
      await until(async () => (await stateOf(executionId)) === state, reads.maxAgeMs + patienceMs)
    }

    async function succeeded(): Promise<string> {
      const [id] = await store.submit(1)
      const [held] = await store.lease(1)
      await store.settle([endOf(held!, 'SUCCEEDED', { result: '{"n":1}' })])
      return id!
    }

    it('an execution is followed from its birth to its end', async () => {
      const [id] = await store.submit(1)
      await expectState(id!, 'PENDING')
      const [first] = await store.lease(1)
      await expectState(id!, 'RUNNING')
      await store.settle([endOf(first!, 'FAILED')])
      await expectState(id!, 'FAILED')
      await store.fireReturns()
      const [second] = await store.lease(1)
      await store.settle([endOf(second!, 'SUCCEEDED', { result: '{"n":1}' })])
      await expectState(id!, 'SUCCEEDED')
      expect(await reads.find(key(id!))).toMatchObject({ result: '{"n":1}', attempt: 2, fence: second!.fence })
      expect(await reads.find(key(id!))).toEqual(await reads.findCurrent(key(id!)))
    })

    it('what is not there is null, and so is what belongs to another tenant, also after its own has asked', async () => {
      const id = await succeeded()
      await expectState(id, 'SUCCEEDED')
      for (const find of [reads.find.bind(reads), reads.findCurrent.bind(reads)]) {
        expect(await find({ tenant: 'other', executionId: id })).toBeNull()
        expect(await find(key(newId(Date.now())))).toBeNull()
      }
    })

    it('many that are asked for at once each get their own answer', async () => {
      const ids = await store.submit(200)
      const asked = [...ids, newId(Date.now()), ...ids.slice(0, 20)]
      const found = await Promise.all(asked.map((id) => reads.find(key(id))))
      expect(found.map((record) => record?.executionId)).toEqual([...ids, undefined, ...ids.slice(0, 20)])
      await cancel(store.database, ids, { reason: 'CANCELLED', actor: 'test', onRecord: false })
    })

    it('an end that was answered stays the answer', async () => {
      const [id] = await store.submit(1)
      const [held] = await store.lease(1)
      const rounds: Set<string | undefined>[] = []
      const asking = until(async () => {
        rounds.push(new Set(await Promise.all(Array.from({ length: 10 }, () => stateOf(id!)))))
        return rounds.filter((states) => states.has('SUCCEEDED')).length > 5
      }, reads.maxAgeMs + patienceMs)
      await store.settle([endOf(held!)])
      await asking
      const first = rounds.findIndex((states) => states.has('SUCCEEDED'))
      for (const states of rounds.slice(first + 1)) expect([...states]).toEqual(['SUCCEEDED'])
    })

    it('one that is replayed is unfinished again', async () => {
      const [id] = await store.submit(1)
      const [held] = await store.lease(1)
      await store.settle([endOf(held!, 'FAILED', { next: 'DEAD', retryAt: null })])
      await expectState(id!, 'DEAD')
      expect(await replay(store.database, [id!], 'test')).toMatchObject([{ verdict: 'REPLAYED' }])
      await expectState(id!, 'PENDING')
      await cancel(store.database, [id!], { reason: 'CANCELLED', actor: 'test', onRecord: false })
    })

    it('what has ended is named, also what was cancelled before it fired; and is then answered as ended', async () => {
      const [pending] = await store.submit(1)
      const done = await cancelled()
      const withdrawn = await store.job({
        type: 'ONE_SHOT',
        interval: null,
        anchor: null,
        runAt: new Date().toISOString(),
      })
      await store.database.query(null, `update carillon.jobs set state = 'DELETED' where job_id = $1`, [withdrawn])
      await until(async () => {
        const ended = await reads.ended([pending!, done, withdrawn, newId(Date.now())])
        expect(ended.has(pending!)).toBe(false)
        return ended.size === 2 && ended.has(done) && ended.has(withdrawn)
      }, reads.maxAgeMs + patienceMs)
      expect(await stateOf(done)).toBe('CANCELLED')
      expect(await reads.ended([])).toEqual(new Set())
      await cancel(store.database, [pending!], { reason: 'CANCELLED', actor: 'test', onRecord: false })
    })

    async function cancelled(): Promise<string> {
      const [id] = await store.submit(1)
      await cancel(store.database, [id!], { reason: 'CANCELLED', actor: 'test', onRecord: true })
      return id!
    }
  })
}
