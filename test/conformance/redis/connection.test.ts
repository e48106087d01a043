import { afterEach, expect, it } from 'vitest'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { defineScript, RedisAwayError, RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { testRedis } from '../../support/redis.ts'
import { connectRedis } from '../../support/redis-connection.ts'
import { until } from '../../support/until.ts'

const redis = await testRedis()

redis.describe('a connection to Redis', () => {
  const echo = defineScript('return { KEYS[1], ARGV[1] }')
  const cleanUps: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  async function ownServer(port?: number): Promise<RedisServer> {
    const server = await startRedis({ port })
    cleanUps.push(() => server.stop())
    return server
  }

  async function connected(server: RedisServer): Promise<RedisConnection> {
    const connection = await connectRedis(server)
    cleanUps.push(() => connection.stop())
    return connection
  }

  it('runs scripts, also one that Redis has forgotten, with keys of the installation', async () => {
    const connection = await connected(redis.server)
    const key = connection.key('shard-3', 'due')
    expect(key).toBe('carillon:{test/shard-3}:due')
    expect(await connection.run(echo, [key], ['x'])).toEqual([key, 'x'])
    await connection.run(defineScript(`return redis.call('script', 'flush')`), []).catch(() => {})
    expect(await connection.run(echo, [key], [5])).toEqual([key, '5'])
  })

  it('a script with a mistake rejects, and Redis is not away for it', async () => {
    const connection = await connected(redis.server)
    await expect(connection.run(defineScript('return nothing.there'), [])).rejects.toThrow()
    expect(connection.isAway()).toBe(false)
  })

  it('starts without Redis, and finds it when it comes', async () => {
    const server = await ownServer()
    await server.stop()
    const connection = new RedisConnection({
      address: { kind: 'SERVER', url: server.url, tls: null },
      installationId: async () => 'i',
      logger: createLogger('silent'),
    })
    cleanUps.push(() => connection.stop())
    await connection.start()
    expect(connection.isAway()).toBe(true)
    await expect(connection.get('k')).rejects.toThrow(RedisAwayError)
    await ownServer(server.port)
    await until(() => !connection.isAway())
    expect(await connection.get('k')).toBeNull()
  })

  it('says when Redis goes and comes back, and hears its channels again', async () => {
    const server = await ownServer()
    const connection = await connected(server)
    const said: string[] = []
    connection.onAway(() => said.push('away'))
    connection.onBack(() => said.push('back'))
    const heard: string[] = []
    connection.subscribe(connection.channel('c'), (message) => heard.push(message))
    await server.stop()
    await until(() => connection.isAway())
    const again = await ownServer(server.port)
    await until(() => !connection.isAway())
    expect(said).toEqual(['away', 'back'])
    const other = await connected(again)
    await until(async () => {
      await other.publish(other.channel('c'), 'hello')
      return heard.includes('hello')
    })
  })

  it('a server that is frozen is away within a second, every command ends in time, and it comes back', async () => {
    const server = await ownServer()
    const connection = await connected(server)
    process.kill(server.pid, 'SIGSTOP')
    const began = performance.now()
    await expect(connection.get('k')).rejects.toThrow(RedisAwayError)
    expect(performance.now() - began).toBeLessThan(1_000)
    expect(connection.isAway()).toBe(true)
    await expect(connection.get('k')).rejects.toThrow(RedisAwayError)
    process.kill(server.pid, 'SIGCONT')
    await until(() => !connection.isAway())
  })

  it('a connection on which nothing is answered is replaced', async () => {
    const server = await ownServer()
    const connection = await connected(server)
    process.kill(server.pid, 'SIGSTOP')
    await expect(connection.get('k')).rejects.toThrow(RedisAwayError)
    const began = performance.now()
    await until(() => performance.now() - began > 6_000)
    process.kill(server.pid, 'SIGCONT')
    await until(() => !connection.isAway())
    expect(await connection.get('k')).toBeNull()
  })

  it('goes on while our own event loop was busy for longer than a command may take', async () => {
    const connection = await connected(redis.server)
    const answer = connection.get('k')
    await new Promise((resolve) => setImmediate(resolve))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
    expect(await answer).toBeNull()
    expect(connection.isAway()).toBe(false)
  })
})
