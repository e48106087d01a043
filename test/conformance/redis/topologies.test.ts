/** Sentinels and clusters: the same connection, and the hot window on it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, expect, it } from 'vitest'
import { freePort } from '../../../packages/embedded/src/port.ts'
import { redisAddress } from '../../../packages/server/src/config/redis-address.ts'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { RedisWindow } from '../../../packages/server/src/due-source/redis-window.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import type { DueSchedule } from '../../../packages/server/src/store/schedules/read-due.ts'
import { type RedisServer, startRedis, startSentinel } from '../../../scripts/servers/redis.ts'
import { redisCommand, testRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const redis = await testRedis()
const run = promisify(execFile)

redis.describe('Redis of several servers', () => {
  const cleanUps: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  async function own(starting: Promise<RedisServer>): Promise<RedisServer> {
    const server = await starting
    cleanUps.push(() => server.stop())
    return server
  }

  async function connect(url: string): Promise<RedisConnection> {
    const connection = new RedisConnection({
      address: redisAddress(url, 'signals'),
      installationId: async () => 'several',
      logger: createLogger('silent'),
    })
    cleanUps.push(() => connection.stop())
    await connection.start()
    await until(() => !connection.isAway())
    return connection
  }

  /** Entries go into the window of each shard and are claimed from it; messages are heard. */
  async function expectToWork(connection: RedisConnection, epoch: number): Promise<void> {
    const window = new RedisWindow(connection)
    const now = Date.now()
    for (let shard = 0; shard < 16; shard++) {
      const jobId = newId(now)
      const job = { jobId, tenant: 'acme' } as DueSchedule['job']
      await window.empty({ shard, epoch }, `g${epoch}`, now + 60_000)
      await window.put(
        shard,
        [{ jobId, schedule: { jobId, shard, version: 1, nominal: now, due: now, fires: 0, job } }],
        { at: now, free: false },
      )
      await window.complete(shard, `g${epoch}`)
      const times = { now, until: now, claimedUntil: now + 60_000 }
      const claimed = await window.claim({ shard, epoch }, `g${epoch}`, times)
      expect(claimed).toMatchObject({ verdict: 'OK', entries: [{ jobId, shard, due: now }] })
    }
    const heard: string[] = []
    connection.subscribe(connection.channel(`c${epoch}`), (message) => heard.push(message))
    await until(async () => {
      await connection.publish(connection.channel(`c${epoch}`), 'hello')
      return heard.includes('hello')
    })
  }

  it('a cluster of three: each shard lies in one slot', async () => {
    const nodes: RedisServer[] = []
    for (let i = 0; i < 3; i++) {
      const args = ['--cluster-enabled', 'yes', '--cluster-port', `${await freePort()}`]
      nodes.push(await own(startRedis({ args })))
    }
    const places = nodes.map(({ port }) => `127.0.0.1:${port}`)
    await run('redis-cli', ['--cluster', 'create', ...places, '--cluster-yes'])
    const isWhole = async (node: RedisServer) =>
      String(await redisCommand(node, 'CLUSTER', 'INFO')).includes('cluster_state:ok')
    await until(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean))
    await expectToWork(await connect(`redis+cluster://${places[0]},${places[1]}`), 1)
    const counts = await Promise.all(nodes.map((node) => redisCommand(node, 'DBSIZE')))
    for (const count of counts) expect(Number(count)).toBeGreaterThan(0)
  }, 60_000)

  it('sentinels: when the master is gone, the connection goes on with its replica', async () => {
    const master = await own(startRedis())
    const replica = await own(startRedis({ args: ['--replicaof', '127.0.0.1', `${master.port}`] }))
    const follows = async () =>
      String(await redisCommand(replica, 'INFO', 'replication')).includes('master_link_status:up')
    await until(follows)
    const sentinel = await own(startSentinel(master, 'main'))
    const knowsReplica = async () =>
      ((await redisCommand(sentinel, 'SENTINEL', 'REPLICAS', 'main')) as unknown[]).length > 0
    await until(knowsReplica)
    const connection = await connect(`redis+sentinel://127.0.0.1:${sentinel.port}/main`)
    await expectToWork(connection, 1)
    let interruptions = 0
    connection.onAway(() => interruptions++)
    await master.stop()
    await until(async () => {
      await connection.get(connection.key('connection', 'probe')).catch(() => {})
      return interruptions > 0
    }, 30_000)
    await until(() => !connection.isAway(), 40_000)
    await expectToWork(connection, 2)
    expect(String(await redisCommand(replica, 'INFO', 'replication'))).toContain('role:master')
  }, 120_000)
})
