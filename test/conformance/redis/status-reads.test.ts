import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import type { RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import type { StatusReads } from '../../../packages/server/src/status-reads/port.ts'
import { PostgresStatusReads } from '../../../packages/server/src/status-reads/postgres.ts'
import { RedisStatusReads } from '../../../packages/server/src/status-reads/redis.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { redisCommand, testRedis } from '../../support/redis.ts'
import { connectRedis } from '../../support/redis-connection.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { describeStatusReads } from '../status-reads.ts'

const redis = await testRedis()

redis.describe('with Redis', () => {
  describeStatusReads('Redis', async ({ database }) => {
    const connection = await connectRedis(redis.server)
    const postgres = new PostgresStatusReads(database)
    const reads = new RedisStatusReads({
      redis: connection,
      postgres,
      gathering: postgres,
      clock: { now: monotonicMs },
    })
    return { reads, dispose: () => connection.stop() }
  })

  describeStatusReads('Redis, one node, beside PostgreSQL, another, asked in turns', async ({ database }) => {
    const connection = await connectRedis(redis.server)
    const postgres = new PostgresStatusReads(database)
    const own = new RedisStatusReads({ redis: connection, postgres, gathering: postgres, clock: { now: monotonicMs } })
    let turn = 0
    const next = () => (turn++ % 2 === 0 ? own : postgres)
    const reads: StatusReads = {
      maxAgeMs: own.maxAgeMs,
      // An end answered by a node without Redis is not known in Redis: a caller that must not see it undone asks for the current state.
      find: (key) => own.find(key),
      findCurrent: (key) => next().findCurrent(key),
      ended: (ids) => own.ended(ids),
    }
    return { reads, dispose: () => connection.stop() }
  })

  let store: TestStore
  let connection: RedisConnection
  let asked: number
  let fallbacks: number
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(() => store[Symbol.asyncDispose]())
  beforeEach(async () => {
    connection = await connectRedis(redis.server)
    asked = 0
    fallbacks = 0
  })
  afterEach(() => connection.stop())

  /** As one node has it; `asked` counts how often PostgreSQL was. */
  function node(by = connection): StatusReads {
    const truth = new PostgresStatusReads(store.database)
    const postgres: StatusReads = {
      maxAgeMs: 0,
      find: (key) => truth.find(key),
      findCurrent: (key) => {
        asked++
        return truth.findCurrent(key)
      },
      ended: (ids) => truth.ended(ids),
    }
    return new RedisStatusReads({
      redis: by,
      postgres,
      gathering: postgres,
      clock: { now: monotonicMs },
      onFallback: () => fallbacks++,
    })
  }

  const key = (executionId: string) => ({ tenant, executionId })

  async function running() {
    const [id] = await store.submit(1)
    return (await store.lease(100)).find(({ executionId }) => executionId === id)!
  }

  it('what one node has read, the others are answered without PostgreSQL', async () => {
    const [one, other] = [node(), node()]
    const [id] = await store.submit(1)
    await one.find(key(id!))
    for (let i = 0; i < 20; i++) expect((await other.find(key(id!)))?.state).toBe('PENDING')
    expect(asked).toBe(1)
  })

  it('an end that one node has answered in any way is never undone by another', async () => {
    for (const how of ['find', 'findCurrent', 'ended'] as const) {
      const [one, other] = [node(), node()]
      const held = await running()
      const id = held.executionId
      expect((await one.find(key(id!)))?.state).toBe('RUNNING')
      await store.settle([endOf(held, 'FAILED', { next: 'DEAD', retryAt: null })])
      if (how === 'find') await until(async () => (await other.find(key(id!)))?.state === 'DEAD')
      else if (how === 'findCurrent') await other.findCurrent(key(id!))
      else expect(await other.ended([id!])).toEqual(new Set([id]))
      expect((await one.find(key(id!)))?.state).toBe('DEAD')
    }
  })

  it('what was read before an end, and is written after Redis has lost that end, is not kept', async () => {
    const held = await running()
    const id = held.executionId
    let read = () => {}
    let goOn = () => {}
    const hasRead = new Promise<void>((resolve) => {
      read = resolve
    })
    const mayAnswer = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const truth = new PostgresStatusReads(store.database)
    const slow: StatusReads = {
      maxAgeMs: 0,
      find: (each) => truth.find(each),
      async findCurrent(each) {
        const record = await truth.findCurrent(each)
        read()
        await mayAnswer
        return record
      },
      ended: (ids) => truth.ended(ids),
    }
    const late = new RedisStatusReads({
      redis: connection,
      postgres: slow,
      gathering: slow,
      clock: { now: monotonicMs },
    })
    const early = late.find(key(id!))
    await hasRead
    await store.settle([endOf(held)])
    expect((await node().find(key(id!)))?.state).toBe('SUCCEEDED')
    await redisCommand(redis.server, 'FLUSHALL')
    goOn()
    expect((await early)?.state).toBe('RUNNING')
    expect((await node().find(key(id!)))?.state).toBe('SUCCEEDED')
  })

  it('while Redis is away PostgreSQL answers, and is counted', async () => {
    const server = await startRedis()
    const own = await connectRedis(server)
    const reads = node(own)
    const [id] = await store.submit(1)
    await reads.find(key(id!))
    await server.stop()
    for (let i = 0; i < 5; i++) expect((await reads.find(key(id!)))?.state).toBe('PENDING')
    expect(fallbacks).toBeGreaterThan(0)
    await own.stop()
  })
})
