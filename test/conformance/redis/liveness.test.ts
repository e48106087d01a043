import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { KeepAliveThread } from '../../../packages/server/src/keep-alive/keep-alive.ts'
import type { WorkerLiveness } from '../../../packages/server/src/liveness/port.ts'
import { PostgresLiveness } from '../../../packages/server/src/liveness/postgres.ts'
import { RedisLiveness } from '../../../packages/server/src/liveness/redis.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import type { RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import { registerWorker } from '../../../packages/server/src/store/workers/register.ts'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { redisCommand, testRedis } from '../../support/redis.ts'
import { connectRedis } from '../../support/redis-connection.ts'
import { noThread, openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { describeLiveness, type MakeLiveness } from '../liveness.ts'

const redis = await testRedis()
const logger = createLogger('silent')

redis.describe('with Redis', () => {
  /** Every second node keeps to PostgreSQL, if `mixed`. */
  const make = (mixed: boolean): MakeLiveness => {
    let made = 0
    return async ({ database, url }, { everyMs, attachedEveryMs, lostMs, now }) => {
      const times = { renewEveryMs: attachedEveryMs, workersEveryMs: attachedEveryMs, answerWithinMs: 5_000 }
      const thread = new KeepAliveThread({ databaseUrl: url, ...times }, logger)
      let started = Promise.resolve()
      const keepAlive = {
        addWorker(workerId: string) {
          started = thread.start()
          thread.addWorker(workerId)
        },
        removeWorker: (workerId: string) => thread.removeWorker(workerId),
      }
      const connection = await connectRedis(redis.server)
      const wiring = { database, keepAlive, logger, everyMs, lostMs, now }
      const isOther = mixed && made++ % 2 === 1
      return {
        liveness: isOther ? new PostgresLiveness(wiring) : new RedisLiveness({ ...wiring, redis: connection }),
        async dispose() {
          await started
          await thread.stop()
          await connection.stop()
          // What nodes have listened to in one test says nothing about the next, whose time begins anew.
          await redisCommand(redis.server, 'FLUSHALL')
        },
      }
    }
  }

  describeLiveness('Redis', make(false))
  describeLiveness('Redis at one node, PostgreSQL at the other', make(true))

  const lostMs = 6_000
  let store: TestStore
  let server: RedisServer
  let connection: RedisConnection
  let fallbacks: number
  beforeAll(async () => {
    store = await openStore({ shardCount: 1 })
  })
  afterAll(() => store[Symbol.asyncDispose]())
  beforeEach(async () => {
    server = await startRedis()
    connection = await connectRedis(server)
    fallbacks = 0
  })
  afterEach(async () => {
    await connection.stop()
    await server.stop()
  })

  function node(): WorkerLiveness {
    return new RedisLiveness({
      ...{ database: store.database, keepAlive: noThread, logger, everyMs: 1_000, lostMs, redis: connection },
      onFallback: () => fallbacks++,
    })
  }

  async function register(count = 1): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId(Date.now()))
    for (const workerId of ids)
      await registerWorker(store.database, { workerId, nodeId: newId(1), tenant: null, name: 'worker', pools: [] })
    return ids
  }

  const seenAt = async (workerId: string) => {
    const sql = 'select seen_at at from carillon.workers where worker_id = $1'
    return (await store.database.query<{ at: Date }>(null, sql, [workerId]))[0]!.at.getTime()
  }

  it('heartbeats reach PostgreSQL three to four times in the time after which a worker is lost, no more', async () => {
    const [workerId] = await register()
    const liveness = node()
    const writes = new Set<number>([await seenAt(workerId!)])
    const began = performance.now()
    let beats = 0
    await until(async () => {
      await liveness.heard([workerId!])
      beats++
      writes.add(await seenAt(workerId!))
      return performance.now() - began > lostMs
    })
    // The registration, the first heartbeat, and one for each quarter.
    expect(writes.size).toBeGreaterThanOrEqual(4)
    expect(writes.size).toBeLessThanOrEqual(6)
    expect(beats).toBeGreaterThan(50)
  })

  it('a live worker stays live, for any time asked about, when Redis forgets everything', async () => {
    const [workerId] = await register()
    const [liveness, other] = [node(), node()]
    await liveness.heard([workerId!])
    const written = Date.now()
    // Heard again and again, though PostgreSQL is not told before a quarter of lostMs is over.
    await until(async () => {
      await liveness.heard([workerId!])
      return Date.now() - written > lostMs / 5
    })
    await redisCommand(server, 'FLUSHALL')
    for (const each of [liveness, other, node()])
      expect(await each.live([workerId!], 1_000)).toEqual(new Set([workerId]))
  })

  it('while Redis is away PostgreSQL is told and asked; it goes on from there when Redis is back', async () => {
    const [workerId] = await register()
    const liveness = node()
    await liveness.heard([workerId!])
    await server.stop()
    expect(await liveness.heard([workerId!])).toEqual(new Set([workerId]))
    const before = await seenAt(workerId!)
    expect(await liveness.heard([workerId!])).toEqual(new Set([workerId]))
    expect(await seenAt(workerId!)).toBeGreaterThan(before)
    expect(await liveness.live([workerId!], lostMs)).toEqual(new Set([workerId]))
    expect(fallbacks).toBeGreaterThan(0)
    server = await startRedis({ port: server.port })
    await until(() => !connection.isAway())
    expect(await liveness.live([workerId!], lostMs)).toEqual(new Set([workerId]))
    expect(await liveness.heard([workerId!])).toEqual(new Set([workerId]))
  })

  it('two thousand workers are heard in one call', async () => {
    const ids = await register(2_000)
    const liveness = node()
    expect((await liveness.heard(ids)).size).toBe(2_000)
    expect((await liveness.heard(ids)).size).toBe(2_000)
    expect((await liveness.live(ids, lostMs)).size).toBe(2_000)
    expect(fallbacks).toBe(0)
  })
})
