/** Runs of graphs while everything happens at once: a child of several parents is released exactly once, whoever ends them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { TestRuns } from '../../support/dags.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { raceTimeoutMs, rounds, shuffled } from './rounds.ts'

const dead = { next: 'DEAD' as const, reason: 'ATTEMPTS_USED_UP' }
/** Two parents of one child, and a step after it. */
const diamond = { a: [], b: [], child: ['a', 'b'], after: ['child'] }

describe('runs of graphs', { timeout: 2 * raceTimeoutMs }, () => {
  let store: TestStore
  let dags: TestRuns
  beforeAll(async () => {
    store = await openStore({ connections: 8 })
    dags = new TestRuns(store)
  })
  afterAll(() => store[Symbol.asyncDispose]())

  /** Works until nothing is left to do. */
  async function drain(): Promise<string[]> {
    const worked: string[] = []
    for (;;) {
      await dags.advance()
      const leased = await store.lease(100)
      if (leased.length === 0) return worked
      worked.push(...leased.map(({ dag }) => dag!.step))
      await store.settle(leased.map((held) => endOf(held)))
    }
  }

  const ready = async () => (await store.database.query(null, 'select from carillon.ready')).length

  it('two parents reported in one batch release their child once', async () => {
    await rounds(store, async () => {
      const runId = await dags.start(diamond)
      await dags.advance()
      const parents = await store.lease(2)
      await store.report(shuffled(parents).map((held) => endOf(held)))
      await Promise.all([dags.advance(), dags.advance()])
      expect(await ready()).toBe(1)
      expect(await drain()).toEqual(['child', 'after'])
      expect(await dags.runs.read(tenant, runId)).toMatchObject({ state: 'SUCCEEDED', doneCount: 4 })
    })
  })

  it('two parents reported by two nodes at once release their child once', async () => {
    await rounds(store, async () => {
      const runs = [await dags.start(diamond), await dags.start(diamond)]
      await dags.advance()
      // Of each lease one of either run.
      const parents = await store.lease(4)
      const halves = [shuffled(parents).slice(0, 2), [] as typeof parents]
      halves[1] = parents.filter((held) => !halves[0]!.includes(held))
      await Promise.all(halves.map((part) => store.settle(part.map((held) => endOf(held)))))
      await Promise.all([dags.advance(), dags.advance()])
      expect(await ready()).toBe(2)
      expect((await drain()).sort()).toEqual(['after', 'after', 'child', 'child'])
      for (const runId of runs) expect(await dags.runs.read(tenant, runId)).toMatchObject({ state: 'SUCCEEDED' })
    })
  })

  it('a report that is cut off between the two leaves the child blocked until it is repeated', async () => {
    await rounds(store, async () => {
      await dags.start(diamond)
      await dags.advance()
      const [first, second] = await store.lease(2)
      await store.settle([endOf(first!)])
      // The node dies in its transaction: the server rolls it back.
      const client = await store.database.connect()
      await client.query('begin')
      await client.query(
        `select carillon.report(array[$1::uuid], array[$2::bigint], null, null, null, null, array[null::bigint], array[null::text],
           null, null, null, null)`,
        [second!.executionId, second!.fence],
      )
      const [{ pid }] = (await client.query('select pg_backend_pid() pid')).rows
      client.on('error', () => {})
      await store.database.query(null, 'select pg_terminate_backend($1)', [pid])
      client.release(true)
      await dags.advance()
      expect(await ready()).toBe(0)
      await store.settle([endOf(second!), endOf(first!)])
      expect(await drain()).toEqual(['child', 'after'])
    })
  })

  it('reports, failures, cancels, pauses and retries at once end every run, each step once', async () => {
    const graph = {
      ...{ a: [], b: [], c: ['a'], d: ['a', 'b'], e: ['c', 'd'], f: { after: ['e'], runIf: 'ALL_DONE' as const } },
      ...{ g: { after: ['d'], runIf: 'ANY_FAILED' as const }, h: ['f', 'g'] },
    }
    await rounds(
      store,
      async (n) => {
        const runs = [await dags.start(graph), await dags.start(graph), await dags.start(graph)]
        const refused = () => null
        for (let step = 0; step < 4; step++) {
          await dags.advance()
          const leased = shuffled(await store.lease(20))
          const ends = leased.map((held, i) => ((i + n) % 4 === 0 ? endOf(held, 'FAILED', dead) : endOf(held)))
          const some = await dags.step(runs[1]!, (n + step) % 8)
          await Promise.all([
            store.settle(ends.slice(0, ends.length / 2)),
            store.settle(ends.slice(ends.length / 2)),
            dags.advance(),
            dags.advance(),
            step === n % 4 ? dags.runs.cancel(tenant, runs[0]!, 'test').catch(refused) : null,
            step === n % 3 ? cancel(store.database, [some.executionId], { reason: 'CANCELLED', actor: 'test' }) : null,
            step % 2 === 0
              ? dags.runs.pause(tenant, runs[2]!, 'test').catch(refused)
              : dags.runs.resume(tenant, runs[2]!, 'test').catch(refused),
            dags.runs.retry(tenant, runs[(n + step) % 3]!, 'test').catch(refused),
          ])
          await store.fireReturns()
        }
        await dags.runs.resume(tenant, runs[2]!, 'test').catch(refused)
        await drain()
        for (const runId of runs) expect((await dags.runs.read(tenant, runId)).state).not.toBe('RUNNING')
      },
      { count: 100 },
    )
  })
})
