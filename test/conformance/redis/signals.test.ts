import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { NotifySignals } from '../../../packages/server/src/signals/notify.ts'
import type { Signal, Signals } from '../../../packages/server/src/signals/port.ts'
import { RedisSignals, type RedisSignalsOptions } from '../../../packages/server/src/signals/redis.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { testRedis } from '../../support/redis.ts'
import { connectRedis } from '../../support/redis-connection.ts'
import { until } from '../../support/until.ts'
import { describeSignals } from '../signals.ts'

const redis = await testRedis()
const logger = createLogger('silent')
let home: TestDatabase

beforeAll(async () => {
  home = await createDatabase()
})
afterAll(() => home.drop())

function openDatabase(): Database {
  return new Database({
    ...{ url: home.url, maxConnections: 6, statementTimeoutMs: 10_000, applicationName: 'nodes' },
  })
}

redis.describe('with Redis', () => {
  const open = (kinds: ('REDIS' | 'NOTIFY')[]) => async () => {
    const database = openDatabase()
    const connections = await Promise.all(kinds.map(() => connectRedis(redis.server)))
    const ids = ['a', 'b']
    const nodes = kinds.map((kind, i): Signals => {
      const nodeId = ids[i]!
      const hearsOtherwise = () => kind === 'REDIS' && !connections[i]!.isAway()
      const notify = new NotifySignals({ database, nodeId, hearsOtherwise, logger })
      const liveNodes = async () => ids
      return kind === 'NOTIFY'
        ? notify
        : new RedisSignals({ redis: connections[i]!, notify, nodeId, liveNodes, logger })
    })
    return {
      nodes: nodes as [Signals, Signals],
      async dispose() {
        for (const connection of connections) await connection.stop()
        await database.end()
      },
    }
  }

  describeSignals('Redis', open(['REDIS', 'REDIS']))
  describeSignals('Redis at the one that publishes, NOTIFY at the other', open(['REDIS', 'NOTIFY']))
  describeSignals('NOTIFY at the one that publishes, Redis at the other', open(['NOTIFY', 'REDIS']))

  const cleanUps: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  async function node(nodeId: string, more: Partial<RedisSignalsOptions> = {}): Promise<Signals> {
    const database = openDatabase()
    const connection = more.redis ?? (await connectRedis(redis.server, 'own'))
    const notify = new NotifySignals({ database, nodeId, hearsOtherwise: () => !connection.isAway(), logger })
    const wiring = { redis: connection, notify, nodeId, liveNodes: async () => ['a', 'b'], logger, ...more }
    const signals = new RedisSignals(wiring)
    cleanUps.push(async () => {
      await signals.stop()
      await connection.stop()
      await database.end()
    })
    await signals.start()
    return signals
  }

  const cancel = (n: number): Signal => ({
    ...{ kind: 'CANCEL', workerId: 'w', executionId: `execution-${n}`, fence: n, reason: 'CANCELLED' },
  })

  it('when all nodes hear Redis, nothing goes by NOTIFY any more', async () => {
    const database = openDatabase()
    const onlooker = new NotifySignals({ database, nodeId: 'onlooker', logger })
    cleanUps.push(async () => {
      await onlooker.stop()
      await database.end()
    })
    await onlooker.start()
    const heardByNotify: Signal[] = []
    onlooker.subscribe((signal) => heardByNotify.push(signal))
    const [a, b] = [await node('a'), await node('b')]
    const heardByB: Signal[] = []
    b.subscribe((signal) => heardByB.push(signal))
    // Each asks once a second who hears.
    await until(async () => {
      const before = heardByNotify.length
      const n = heardByB.length
      a.publish({ kind: 'DUE', at: n })
      await until(() => heardByB.length > n)
      // NOTIFY of the same moment would be here by now: a second round trip follows it.
      a.publish({ kind: 'SHARDS' })
      await until(() => heardByB.length > n + 1)
      return heardByNotify.length === before
    })
  })

  it('while Redis is away signals go by NOTIFY, and by Redis again afterwards', async () => {
    const server = await startRedis()
    cleanUps.push(() => server.stop())
    let fallbacks = 0
    const a = await node('a', { redis: await connectRedis(server), onFallback: () => fallbacks++ })
    const b = await node('b', { redis: await connectRedis(server) })
    const heard: Signal[] = []
    b.subscribe((signal) => heard.push(signal))
    await server.stop()
    a.publish(cancel(1))
    await until(() => heard.some((signal) => signal.kind === 'CANCEL' && signal.fence === 1))
    expect(fallbacks).toBeGreaterThan(0)
    const again = await startRedis({ port: server.port })
    cleanUps.push(() => again.stop())
    await until(() => {
      const before = fallbacks
      a.publish({ kind: 'SHARDS' })
      return fallbacks === before && heard.some((signal) => signal.kind === 'SHARDS')
    })
  })

  it('a cancellation that a node did not hear is read from the key of its worker, once', async () => {
    const a = await node('a')
    a.publish(cancel(9))
    const late: Signal[] = []
    const database = openDatabase()
    const connection = await connectRedis(redis.server, 'own')
    const notify = new NotifySignals({ database, nodeId: 'b', hearsOtherwise: () => true, logger })
    const wiring = { redis: connection, notify, nodeId: 'b', liveNodes: async () => ['a', 'b'], logger }
    // The message itself is lost: it was sent before this node listened.
    await until(
      async () => (await connection.get(connection.key('signals', 'cancel:w')).catch(() => 'a list')) !== null,
    )
    let looks = 0
    const workers = () => {
      looks++
      return ['w', 'x']
    }
    const b = new RedisSignals({ ...wiring, workers })
    cleanUps.push(async () => {
      await b.stop()
      await connection.stop()
      await database.end()
    })
    b.subscribe((signal) => late.push(signal))
    await b.start()
    await until(() => looks >= 3)
    expect(late.filter((signal) => signal.kind === 'CANCEL')).toEqual([cancel(9)])
  })
})
