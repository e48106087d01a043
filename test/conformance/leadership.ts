/** What every version of leadership must do, whatever elects the leader. The epochs are PostgreSQL's in all of them. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Leadership, LedShard } from '../../packages/server/src/leadership/port.ts'
import { openStore, type TestStore } from '../support/store.ts'
import { until } from '../support/until.ts'

/** One node's leadership. */
export interface LeadershipSubject {
  leadership: Leadership
  /** As if the node had died: the lease is not renewed any more, and nothing is given up. */
  die(): Promise<void>
  /** Frees what it holds after a test. */
  dispose(): Promise<void>
}

/** Leases last `leaseMs`. */
export type MakeLeadership = (store: TestStore, leaseMs: number) => Promise<LeadershipSubject>

const shardCount = 8
const leaseMs = 3_000

export function describeLeadership(name: string, make: MakeLeadership): void {
  describe(`leadership by ${name}`, () => {
    let store: TestStore
    let nodes: LeadershipSubject[]

    beforeAll(async () => {
      store = await openStore({ shardCount })
    })
    afterAll(() => store[Symbol.asyncDispose]())
    beforeEach(async () => {
      // The store has a leader of its own, for tests that need no node.
      await store.database.query(null, 'delete from carillon.nodes')
      nodes = []
    })
    afterEach(async () => {
      for (const node of nodes) await node.dispose()
    })

    /** A node that has started; what it frees, the others hear of. */
    async function start(): Promise<LeadershipSubject> {
      const node = await make(store, leaseMs)
      node.leadership.onFreed(() => {
        for (const other of nodes) if (other !== node) other.leadership.wake()
      })
      nodes.push(node)
      await node.leadership.start()
      return node
    }

    const idsOf = ({ leadership }: LeadershipSubject) => leadership.shards().map(({ shard }) => shard)
    const counts = () => nodes.map((node) => idsOf(node).length)
    const areShared = (...shares: number[]) => until(() => counts().join() === shares.join(), 10_000)

    /** Which of these PostgreSQL lets a leader write to. */
    async function held(shards: readonly LedShard[]): Promise<number> {
      const [row] = await store.database.query<{ count: number }>(
        null,
        'select cardinality(carillon.hold_shards($1, $2)) count',
        [shards.map(({ shard }) => shard), shards.map(({ epoch }) => epoch)],
      )
      return row!.count
    }

    it('a node that is alone leads every shard when it has started', async () => {
      const node = await start()
      await areShared(shardCount)
      expect(idsOf(node)).toEqual(Array.from({ length: shardCount }, (_, i) => i))
      expect(await held(node.leadership.shards())).toBe(shardCount)
      expect(node.leadership.alone()).toBe(true)
    })

    it('nodes share the shards evenly, no shard has two leaders, and none is alone', async () => {
      for (let i = 0; i < 3; i++) await start()
      await until(() => counts().toSorted().join() === '2,3,3', 10_000)
      const all = nodes.flatMap(idsOf).toSorted((a, b) => a - b)
      expect(all).toEqual(Array.from({ length: shardCount }, (_, i) => i))
      for (const { leadership } of nodes) expect(await held(leadership.shards())).toBe(leadership.shards().length)
      await until(() => nodes.every(({ leadership }) => !leadership.alone()))
    })

    it('a change of leader raises the epoch, and the old leader can write nothing to the shard any more', async () => {
      const first = await start()
      await areShared(shardCount)
      const before = first.leadership.shards()
      const second = await start()
      await areShared(shardCount / 2, shardCount / 2)
      for (const { shard, epoch } of second.leadership.shards()) {
        expect(epoch).toBeGreaterThan(before.find((led) => led.shard === shard)!.epoch)
      }
      expect(await held(before)).toBe(shardCount / 2)
    })

    it('one that stops hands over at once, leads nothing from then on, and says when its shards are free', async () => {
      const [first, second] = [await start(), await start()]
      await areShared(shardCount / 2, shardCount / 2)
      const before = first.leadership.shards()
      const changes: number[] = []
      first.leadership.onChange((shards) => changes.push(shards.length))
      let freed = false
      first.leadership.onFreed(() => {
        freed = true
      })
      await first.leadership.stop()
      expect([first.leadership.shards(), first.leadership.alone(), changes, freed]).toEqual([[], false, [0], true])
      expect(await held(before)).toBe(0)
      await until(() => idsOf(second).length === shardCount, leaseMs)
      await until(() => second.leadership.alone())
    })

    it('one that dies is replaced after its lease, and one whose lease has run out leads nothing', async () => {
      const [first, second] = [await start(), await start()]
      await areShared(shardCount / 2, shardCount / 2)
      const before = first.leadership.shards()
      await first.die()
      await until(() => idsOf(second).length === shardCount, 4 * leaseMs)
      expect(await held(before)).toBe(0)
      await until(() => idsOf(first).length === 0, 4 * leaseMs)
    })

    it('tells of every change, until the subscription ends', async () => {
      const first = await start()
      await areShared(shardCount)
      const heard: LedShard[][] = []
      const end = first.leadership.onChange((shards) => heard.push([...shards]))
      const second = await start()
      await areShared(shardCount / 2, shardCount / 2)
      expect(heard.at(-1)).toEqual(first.leadership.shards())
      end()
      const count = heard.length
      await second.leadership.stop()
      await until(() => idsOf(first).length === shardCount, 10_000)
      expect(heard).toHaveLength(count)
    })

    it('a stop may come twice, and before any start', async () => {
      const node = await make(store, leaseMs)
      nodes.push(node)
      await node.leadership.stop()
      const started = await start()
      await started.leadership.stop()
      await started.leadership.stop()
      expect(started.leadership.shards()).toEqual([])
    })
  })
}
