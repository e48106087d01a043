import { expect, it } from 'vitest'
import { examineRedis } from '../../../packages/server/src/administration/doctor-redis.ts'
import { Metrics } from '../../../packages/server/src/observability/metrics.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { redisCommand, testRedis } from '../../support/redis.ts'

const redis = await testRedis()

redis.describe('what operators are told of Redis', () => {
  it('the doctor says that it answers, that it is away, and that it drops entries', async () => {
    expect(await examineRedis(redis.server.url, 'test')).toMatchObject([
      { check: 'redis', status: 'OK', message: expect.stringMatching(/^Redis \d+\.\d+.* answers$/) },
    ])
    await redisCommand(redis.server, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    expect(await examineRedis(redis.server.url, 'test')).toMatchObject([
      { status: 'WARN', message: expect.stringContaining('allkeys-lru'), hint: expect.any(String) },
    ])
    const gone = await startRedis()
    await gone.stop()
    expect(await examineRedis(gone.url, 'test')).toMatchObject([
      { status: 'WARN', message: expect.stringContaining('does not answer') },
    ])
  })

  it('metrics say whether it is away and how often PostgreSQL was asked instead', async () => {
    const metrics = new Metrics()
    metrics.seams.serverAway('redis', 'signals', true)
    metrics.seams.fellBack('liveness')
    const text = await metrics.text({ whole: true })
    expect(text).toContain('carillon_server_away{server="redis"} 1')
    expect(text).toContain('carillon_fallbacks_total{seam="liveness"} 1')
  })
})
