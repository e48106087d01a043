/** Limits while everything happens at once: no slot is given away twice, none is lost, and whatever waits gets one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { admit, checkSlots, readAdmissible } from '../../../packages/server/src/store/limits/admit.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { raceTimeoutMs, rounds, shuffled } from './rounds.ts'

const most: Record<string, number> = { a: 1, b: 2, c: 3 }

describe('limits', { timeout: 2 * raceTimeoutMs }, () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore({ connections: 8 })
    for (const [name, concurrency] of Object.entries(most)) {
      await store.database.query(
        null,
        'insert into carillon.limits (tenant, name, scope, concurrency) values ($1, $2, $3, $4)',
        [...[tenant, name, 'KEY', concurrency]],
      )
    }
  })
  afterAll(() => store[Symbol.asyncDispose]())

  async function admitOnce(): Promise<boolean> {
    const { nextAt: _, ...found } = await readAdmissible(store.database, 20)
    if (found.keys.length === 0) return false
    const tags = found.candidates.map(() => store.tag())
    const { moved, more } = await admit(store.database, found, tags)
    return moved.length > 0 || more
  }

  it('two nodes that admit at once give no slot away twice', async () => {
    await rounds(store, async () => {
      await store.submit(6, { limitKeys: ['b'] } as never)
      await Promise.all([admitOnce(), admitOnce(), admitOnce()])
      while (await admitOnce());
      expect(await store.lease(10)).toHaveLength(2)
    })
  })

  it('reports, failures, cancels and admissions at once: never above a limit, no slot lost, everything ends', async () => {
    await rounds(
      store,
      async () => {
        const keysOf = new Map<string, string[]>()
        const all = [['a'], ['b'], ['c'], ['c', 'a'], ['b', 'c'], ['b', 'a', 'c'], []]
        for (const limitKeys of shuffled(all)) {
          for (const id of await store.submit(3, limitKeys.length > 0 ? ({ limitKeys } as never) : null))
            keysOf.set(id, limitKeys)
        }
        const running = new Map<string, number>()
        let ended = 0
        const node = async () => {
          for (let idle = 0; idle < 3; ) {
            await admitOnce()
            const leased = await store.lease(4)
            for (const { executionId } of leased) {
              for (const key of keysOf.get(executionId)!) {
                running.set(key, (running.get(key) ?? 0) + 1)
                expect(running.get(key), key).toBeLessThanOrEqual(most[key]!)
              }
            }
            const ends = leased.map((held) => endOf(held, Math.random() < 0.2 ? 'FAILED' : 'SUCCEEDED'))
            for (const { executionId, outcome } of ends) {
              for (const key of keysOf.get(executionId)!) running.set(key, running.get(key)! - 1)
              if (outcome === 'SUCCEEDED') ended++
            }
            await store.settle(ends)
            await store.fireReturns()
            idle = leased.length === 0 ? idle + 1 : 0
          }
        }
        const cancelled = shuffled([...keysOf.keys()]).slice(0, 4)
        await Promise.all([
          node(),
          node(),
          node(),
          cancel(store.database, cancelled, { reason: 'CANCELLED', actor: 'test' }),
        ])
        await node()
        if (ended < keysOf.size - cancelled.length)
          console.log(
            await store.database.query(
              null,
              `select (select count(*)::int from carillon.executions where state is null) open, (select jsonb_agg(t) from carillon.retries t) retries, (select jsonb_agg(t) from carillon.waiting t) waiting, (select jsonb_agg(t) from carillon.limit_keys t) keys, (select jsonb_agg(t) from carillon.limit_changes t) changes, (select jsonb_agg(t) from carillon.limit_holds t) holds,(select count(*)::int from carillon.ready) ready, (select jsonb_agg(l) from carillon.running l) running`,
            ),
          )
        expect(ended).toBeGreaterThanOrEqual(keysOf.size - cancelled.length)
        expect(await checkSlots(store.database)).toEqual([])
        expect(await store.database.query(null, 'select from carillon.limit_holds')).toEqual([])
        expect(await store.database.query(null, 'select from carillon.waiting')).toEqual([])
      },
      { count: 60 },
    )
  })
})
