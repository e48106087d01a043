/** For how long workers could be heard, whichever nodes were up: on a real database, by a clock that the test sets. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { WorkerWatch } from '../../../packages/server/src/upkeep/worker-watch.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { lostMs, Swept } from './swept.ts'

let store: TestStore
let now: number

beforeEach(async () => {
  store = await openStore({ shardCount: 1 })
  now = Date.UTC(2026, 0, 1)
})
afterEach(() => store[Symbol.asyncDispose]())

function node(): WorkerWatch {
  const { database } = store
  const logger = createLogger('silent')
  return new WorkerWatch({ database, logger, everyMs: 1_000, lostMs, now: () => new Date(now) })
}

/** These nodes extend the record every second for `seconds`; answers what the last of them was told. */
async function pass(seconds: number, nodes: WorkerWatch[]): Promise<number> {
  let watchedMs = 0
  for (let second = 0; second < seconds; second++) {
    now += 1_000
    for (const each of nodes) watchedMs = await each.runOnce()
  }
  return watchedMs
}

describe('the worker watch', () => {
  it('counts from the first time that a node has gone on hearing', async () => {
    const first = node()
    expect(await first.runOnce()).toBe(0)
    expect(await pass(30, [first])).toBe(30_000)
  })

  it('goes on while one node after the other is replaced, as long as one hears at any time', async () => {
    let [older, younger] = [node(), node()]
    await pass(5, [older, younger])
    for (let change = 0; change < 10; change++) {
      await pass(3, [younger])
      older = younger
      younger = node()
      await pass(2, [older, younger])
    }
    expect(await node().runOnce()).toBe(54_000)
  })

  it('goes on over a restart of the only node that takes no longer than the gap', async () => {
    await pass(10, [node()])
    now += 1_000
    expect(await pass(10, [node()])).toBe(20_000)
  })

  it.each([
    ['all nodes were down', (): WorkerWatch[] => [node(), node()]],
    ['the database was away from nodes that stayed', (nodes: WorkerWatch[]) => nodes],
  ])('begins anew after a gap: %s', async (_, after) => {
    const nodes = [node(), node()]
    await pass(60, nodes)
    now += 4_000
    const back = after(nodes)
    for (const each of back) expect(await each.runOnce()).toBe(0)
    expect(await pass(29, back)).toBe(29_000)
  })

  it('does not count a node that keeps crashing before it could hear anybody', async () => {
    await pass(60, [node()])
    for (let start = 0; start < 20; start++) {
      now += 2_000
      await node().runOnce()
    }
    expect(await pass(2, [node()])).toBeLessThan(3_000)
  })

  it.each([3_600_000, -3_600_000])('begins anew when the clock of the database jumps by %i ms', async (jumpMs) => {
    const nodes = [node(), node()]
    await pass(60, nodes)
    now += jumpMs
    for (const each of nodes) expect(await each.runOnce()).toBe(0)
    expect(await pass(10, nodes)).toBe(10_000)
  })

  it('leaves the record to the other node that is extending it at this moment, and loses nothing by that', async () => {
    const [one, other] = [node(), node()]
    await pass(10, [one, other])
    const client = await store.database.connect()
    await client.query('begin')
    await client.query('select from carillon.worker_watch for update')
    now += 1_000
    expect(await one.runOnce()).toBe(10_000)
    await client.query('rollback')
    client.release()
    expect(await pass(2, [one])).toBe(12_000)
  })
})

it.each([2_000, 7_000, 22_000])(
  'a lost worker is noticed within 35 s though the watcher changes every %i ms',
  async (everyMs) => {
    // Two nodes; the one that sweeps is killed again and again, comes back, and the other takes over 3 s later.
    const nodes = [new Swept(store), new Swept(store)]
    const at = (ms: number) => {
      for (const each of nodes) each.now = ms
    }
    const start = nodes[0]!.now
    const worker = await nodes[0]!.worker()
    const held = await nodes[0]!.leased(worker)
    let watcher = 0
    let noticedMs: number | null = null
    for (let ms = 0; noticedMs === null && ms <= 120_000; ms += 1_000) {
      at(start + ms)
      const silentMs = Math.max(0, ms - 60_000)
      await store.database.query(
        null,
        `update carillon.workers set seen_at = clock_timestamp() - $1 * interval '1 millisecond'`,
        [silentMs],
      )
      const sinceChangeMs = ms % everyMs
      if (sinceChangeMs === 0) {
        watcher = 1 - watcher
        nodes[1 - watcher] = new Swept(store)
        at(start + ms)
      }
      await nodes[1 - watcher]!.hear()
      if (sinceChangeMs >= Math.min(3_000, everyMs - 1_000)) await nodes[watcher]!.sweep()
      else await nodes[watcher]!.hear()
      if ((await nodes[0]!.execution(held.executionId)).state === 'WORKER_LOST') noticedMs = ms - 60_000
    }
    expect(noticedMs).toBeGreaterThanOrEqual(lostMs)
    expect(noticedMs).toBeLessThanOrEqual(lostMs + 5_000)
  },
)
