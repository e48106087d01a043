/** Take-over against FIRE, and nodes that claim shards at the same moment. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { claimShards, type LedShard, renewLease, resign } from '../../../packages/server/src/store/shards/claim.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { raceTimeoutMs, rounds, shuffled } from './rounds.ts'

const shardCount = 16

describe('leadership', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore({ shardCount, connections: 8 })
  })
  afterAll(() => store[Symbol.asyncDispose]())

  const expire = (nodeId: string) =>
    store.database.query(null, `update carillon.nodes set lease_until = now() - interval '1 s' where node_id = $1`, [
      nodeId,
    ])
  const renew = (nodeId: string) => renewLease(store.database, { nodeId, name: 'n', leaseMs: 3_600_000 })
  const owners = () =>
    store.database.query<{ shard: number; epoch: number; node_id: string | null }>(
      null,
      'select shard, epoch, node_id from carillon.shards order by shard',
    )

  it('changes hands during FIRE: each occurrence fires once, under the old leader or the new one', async () => {
    const jobs = await Promise.all(Array.from({ length: 20 }, () => store.job()))
    let leader = { nodeId: store.leaderId, led: store.led }
    await rounds(store, async () => {
      const records = await Promise.all(jobs.map((id) => store.readJob(id)))
      const plans = records.map((job) => store.plan(job!))
      const moves = shuffled(plans.map((plan) => plan.move))
      const occurrences = plans.flatMap((plan) => plan.occurrences)
      const nodeId = newId(Date.now())
      await Promise.all([renew(nodeId), expire(leader.nodeId)])
      const take = () => claimShards(store.database, nodeId)
      const [before, first] = await Promise.all([store.fireAs(leader.led, moves, occurrences), take()])
      let led: LedShard[] = first.shards
      while (led.length < shardCount) led = (await take()).shards
      const late = await store.fireAs(leader.led, moves, occurrences)
      expect(late.moved, 'a replaced leader fired').toEqual([])
      const after = await store.fireAs(led, moves, occurrences)
      expect([...before.moved, ...after.moved].toSorted()).toEqual(jobs.toSorted())
      expect(before.fired + after.fired).toBe(jobs.length)
      expect(before.duplicates + after.duplicates).toBe(0)
      leader = { nodeId, led }
    })
  })

  it('is shared by nodes that come, claim at once and go: one leader a shard, epochs that grow, even shares', async () => {
    let nodes: string[] = []
    let seen = await owners()
    for (let n = 0; n < 60; n++) {
      await store.database.query(null, `update carillon.nodes set lease_until = now() - interval '1 s'`)
      const staying = nodes.slice(n % 3)
      nodes = [...staying, ...Array.from({ length: 1 + (n % 3) }, () => newId(Date.now()))].slice(-7)
      await Promise.all(nodes.map(renew))
      const claims = () => Promise.all(shuffled(nodes).map((nodeId) => claimShards(store.database, nodeId)))
      // Give-ups of one round are taken in the next: two are enough unless claims meet in the middle.
      let settled = false
      for (let round = 0; round < 20 && !settled; round++) {
        await claims()
        settled = (await owners()).every(({ node_id }) => nodes.includes(node_id!))
      }
      const now = await owners()
      now.forEach(({ epoch, node_id }, i) => {
        const before = seen[i]!
        if (node_id === before.node_id) expect(epoch).toBeGreaterThanOrEqual(before.epoch)
        else expect(epoch).toBeGreaterThan(before.epoch)
      })
      seen = now
      const shares = nodes.map((nodeId) => now.filter(({ node_id }) => node_id === nodeId).length)
      expect(shares.reduce((a, b) => a + b, 0)).toBe(shardCount)
      expect(Math.max(...shares) - Math.min(...shares), `shares ${shares}`).toBeLessThanOrEqual(1)
      const led = await claimShards(store.database, nodes[0]!)
      expect(led.shards.map((s) => s.shard)).toEqual(now.filter((s) => s.node_id === nodes[0]).map((s) => s.shard))
    }
  })

  it('is given up by two nodes at once while others claim it and FIRE holds it', async () => {
    const jobs = await Promise.all(Array.from({ length: 10 }, () => store.job()))
    await rounds(store, async () => {
      await store.database.query(null, 'delete from carillon.nodes')
      const [going, coming] = [newId(Date.now()), newId(Date.now())]
      await renew(going)
      const { shards } = await claimShards(store.database, going)
      await renew(coming)
      const plans = (await Promise.all(jobs.map((id) => store.readJob(id)))).map((job) => store.plan(job!))
      const occurrences = plans.flatMap((plan) => plan.occurrences)
      await Promise.all([
        store.fireAs(
          shards,
          plans.map((plan) => plan.move),
          occurrences,
        ),
        resign(store.database, going),
        claimShards(store.database, coming),
      ])
      const { shards: taken } = await claimShards(store.database, coming)
      expect(taken).toHaveLength(shardCount)
    })
  })
})
