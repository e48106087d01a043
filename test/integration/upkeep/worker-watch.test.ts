/** That the time in which workers could be heard is one record of all nodes, and what follows for lost workers. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { PostgresLiveness } from '../../../packages/server/src/liveness/postgres.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { noThread, openStore, type TestStore } from '../../support/store.ts'
import { lostMs, Swept } from './swept.ts'

let store: TestStore
let now: number

beforeEach(async () => {
  store = await openStore({ shardCount: 1 })
  now = Date.UTC(2026, 0, 1)
})
afterEach(() => store[Symbol.asyncDispose]())

it('a node leaves the record to another that is extending it at this moment, and loses nothing by that', async () => {
  const { database } = store
  const times = { everyMs: 1_000, lostMs, now: () => new Date(now) }
  const nodes = [1, 2].map(
    () => new PostgresLiveness({ database, keepAlive: noThread, logger: createLogger('silent'), ...times }),
  )
  for (let second = 0; second < 10; second++) {
    now += 1_000
    for (const node of nodes) await node.listeningMs()
  }
  const before = await nodes[0]!.listeningMs()
  const client = await database.connect()
  await client.query('begin')
  await client.query('select from carillon.worker_watch for update')
  now += 1_000
  expect(await nodes[0]!.listeningMs()).toBe(before + 1_000)
  await client.query('rollback')
  client.release()
  now += 1_000
  expect(await nodes[0]!.listeningMs()).toBe(before + 2_000)
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
