import { afterEach, beforeEach } from 'vitest'
import type { DueSource } from '../../../packages/server/src/due-source/port.ts'
import { PostgresDueSource } from '../../../packages/server/src/due-source/postgres.ts'
import { RedisDueSource } from '../../../packages/server/src/due-source/redis.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import type { RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import { Isolation } from '../../../packages/server/src/store/quarantine/isolation.ts'
import { redisCommand, testRedis } from '../../support/redis.ts'
import { connectRedis } from '../../support/redis-connection.ts'
import { describeDueSource, type MakeDueSource } from '../due-source.ts'

const redis = await testRedis()
const logger = createLogger('silent')

redis.describe('with Redis', () => {
  let connection: RedisConnection
  let sources: RedisDueSource[]
  beforeEach(async () => {
    await redisCommand(redis.server, 'FLUSHALL')
    connection = await connectRedis(redis.server)
    sources = []
  })
  afterEach(async () => {
    for (const source of sources) await source.idle()
    await connection.stop()
  })

  const make: MakeDueSource = ({ database }, clock) => {
    const isolation = new Isolation({ database, logger })
    const source = new RedisDueSource({ redis: connection, database, clock, isolation, logger })
    sources.push(source)
    return source
  }

  describeDueSource('Redis', make)

  let made = 0
  describeDueSource('Redis, and of PostgreSQL at every second node', (store, clock): DueSource => {
    const isolation = new Isolation({ database: store.database, logger })
    if (made++ % 2 === 0) return make(store, clock)
    return new PostgresDueSource({ database: store.database, clock, isolation })
  })
})
