/** Connections of nodes to the Redis of a test file. */
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { RedisConnection } from '../../packages/server/src/redis/connection.ts'
import type { RedisServer } from '../../scripts/servers/redis.ts'
import { until } from './until.ts'

export async function connectRedis(server: RedisServer, installationId = 'test'): Promise<RedisConnection> {
  const redis = new RedisConnection({
    address: { kind: 'SERVER', url: server.url, tls: null },
    installationId: async () => installationId,
    logger: createLogger('silent'),
  })
  await redis.start()
  await until(() => !redis.isAway())
  return redis
}
