/** Nodes share the shards evenly, whoever comes and goes, and every change of leader raises the epoch. */
import { type Carillon, createCarillon } from '@carillon/server'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { claimShards, renewLease, resign } from '../../../packages/server/src/store/shards/claim.ts'
import { quickTimes } from '../../support/carillon.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { openStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { type Shard, shards, shares } from './shards.ts'

let database: TestDatabase
let sql: pg.Client
const nodes = new Map<string, Carillon>()

beforeEach(async () => {
  database = await createDatabase()
  sql = new pg.Client({ connectionString: database.url })
  await sql.connect()
})
afterEach(async () => {
  for (const name of nodes.keys()) await leave(name)
  await sql.end()
  await database.drop()
})

describe('the shards', () => {
  it('are shared evenly by one, two and three nodes, and by those that stay', async () => {
    await join('a')
    expect(await shares(sql)).toEqual({ a: 64 })
    let before = await shards(sql)
    await join('b')
    await until(async () => same(await shares(sql), { a: 32, b: 32 }))
    before = expectRaised(before, await shards(sql))
    await join('c')
    await until(async () => evenly(await shares(sql), 3))
    before = expectRaised(before, await shards(sql))
    await leave('a')
    await until(async () => same(await shares(sql), { b: 32, c: 32 }))
    before = expectRaised(before, await shards(sql))
    await leave('b')
    await until(async () => same(await shares(sql), { c: 64 }))
    expectRaised(before, await shards(sql))
  })

  it('of a node that stops are handed over at once, long before its lease would run out', async () => {
    const patient = { leaseMs: 60_000, renewEveryMs: 100, statementTimeoutMs: 2_000, lifeMs: 60_000 }
    await join('a', patient)
    await join('b', patient)
    await until(async () => same(await shares(sql), { a: 32, b: 32 }))
    await leave('a')
    const stoppedAt = performance.now()
    await until(async () => same(await shares(sql), { b: 64 }))
    expect(performance.now() - stoppedAt).toBeLessThan(5_000)
    expect((await sql.query('select name from carillon.nodes')).rows).toEqual([{ name: 'b' }])
  })
})

it('leaves no node without work where there are enough shards', async () => {
  await using store = await openStore({ shardCount: 64 })
  await resign(store.database, (await store.database.query(null, 'select node_id from carillon.nodes'))[0]!.node_id)
  const ids = Array.from({ length: 9 }, () => newId(Date.now()))
  for (const nodeId of ids) {
    await renewLease(store.database, { nodeId, name: nodeId, leaseMs: 60_000 })
    await claimShards(store.database, nodeId)
  }
  for (let round = 0; round < 2; round++) for (const nodeId of ids) await claimShards(store.database, nodeId)
  const led = await Promise.all(ids.map(async (nodeId) => (await claimShards(store.database, nodeId)).shards))
  expect(led.map((s) => s.length).toSorted()).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 8])
  expect(new Set(led.flat().map((s) => s.shard)).size).toBe(64)
})

async function join(name: string, settings: object = {}): Promise<void> {
  const node = await createCarillon({
    ...quickTimes,
    databaseUrl: database.url,
    nodeName: name,
    logLevel: 'error',
    ...settings,
  })
  nodes.set(name, node)
  await node.start()
}

async function leave(name: string): Promise<void> {
  await nodes.get(name)!.stop()
  nodes.delete(name)
}

function same(one: Record<string, number>, other: Record<string, number>): boolean {
  return Object.keys({ ...one, ...other }).every((name) => one[name] === other[name])
}

function evenly(shared: Record<string, number>, count: number): boolean {
  const led = Object.values(shared)
  return led.length === count && !('nobody' in shared) && Math.max(...led) - Math.min(...led) <= 1
}

/** Every shard with another leader has a higher epoch; of the others nothing was written. */
function expectRaised(before: Shard[], now: Shard[]): Shard[] {
  for (const [i, { nodeId, epoch }] of before.entries()) {
    if (now[i]!.nodeId === nodeId) expect(now[i]!.epoch).toBe(epoch)
    else expect(now[i]!.epoch).toBeGreaterThan(epoch)
  }
  return now
}
