/** What happens to a leader when the hot window is lost, old or false: the real scheduler on a real PostgreSQL. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RedisDueSource } from '../../../packages/server/src/due-source/redis.ts'
import type { Leadership } from '../../../packages/server/src/leadership/port.ts'
import { ShardList } from '../../../packages/server/src/leadership/shard-list.ts'
import { monotonicMs } from '../../../packages/server/src/lib/clock.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import type { RedisConnection } from '../../../packages/server/src/redis/connection.ts'
import { Scheduler } from '../../../packages/server/src/scheduling/scheduler.ts'
import { Isolation } from '../../../packages/server/src/store/quarantine/isolation.ts'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { redisCommand, testRedis } from '../../support/redis.ts'
import { connectRedis } from '../../support/redis-connection.ts'
import { deaf, openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'

const redis = await testRedis()
const logger = createLogger('silent')
const clock = { now: monotonicMs }
const intervalSec = 10

redis.describe('with Redis', () => {
  describe('a leader', () => {
    let store: TestStore
    let folder: string
    let server: RedisServer
    let connection: RedisConnection
    let source: RedisDueSource
    let scheduler: Scheduler
    let fallbacks: number
    /** What the node leads, as its leadership says. */
    let led: ShardList

    beforeEach(async () => {
      store = await openStore({ shardCount: 4 })
      folder = await mkdtemp(join(tmpdir(), 'carillon-redis-test-'))
      server = await startRedis({ folder })
      connection = await connectRedis(server)
      fallbacks = 0
      lead()
    })
    afterEach(async () => {
      await scheduler.stop()
      await source.idle()
      await connection.stop()
      await server.stop()
      await store[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    })

    /** As a node does that begins to lead. */
    function lead(): void {
      const { database } = store
      const isolation = new Isolation({ database, logger })
      const onFallback = () => fallbacks++
      source = new RedisDueSource({ redis: connection, database, clock, isolation, logger, onFallback })
      led = new ShardList(logger)
      led.set(store.led)
      const leadership: Leadership = {
        ...{ shards: () => led.shards, onChange: (listener) => led.onChange(listener) },
        ...{ alone: () => true, onFreed: () => () => {}, wake() {} },
        ...{ async start() {}, async stop() {} },
      }
      const tag = async (flows: readonly unknown[]) => flows.map(() => store.tag())
      scheduler = new Scheduler({
        ...{ database, leadership, source, signals: deaf, clock, tag, isolation, logger },
        ...{ pollMs: 200, windowMs: 2_000 },
      })
    }

    const second = () => Math.floor(Date.now() / 1_000) * 1_000

    /** Jobs of which this many are due each second. Their interval is longer than the window: every occurrence comes from the source. */
    async function jobs(perSecond: number): Promise<void> {
      const interval = `PT${intervalSec}S`
      const first = second() - 2_000
      const count = perSecond * intervalSec
      for (let made = 0; made < count; made += 100) {
        const dues = Array.from({ length: 100 }, (_, i) => first + Math.floor(((made + i) * 1_000) / perSecond))
        await Promise.all(dues.map((nominal) => store.job({ interval, nominal })))
      }
    }

    /** Claims are served from Redis alone. */
    async function isServedByRedis(): Promise<void> {
      await until(async () => {
        const before = fallbacks
        await passes(500)
        return fallbacks === before
      })
    }

    /** Lateness of what was due in a time, in ms, and how many occurrences of the jobs are not there or there twice. */
    async function fired(from: number, to: number): Promise<{ lateness: number[]; missing: number; doubled: number }> {
      const rows = await store.database.query<{ late: number; n: number }>(
        null,
        `select min(carillon.ms(fired_at) - carillon.ms(due_at)) late, count(*)::int n from carillon.executions
         where due_at >= carillon.at($1) and due_at < carillon.at($2) group by job_id, scheduled_for`,
        [from, to],
      )
      const count = await store.database.query<{ n: number }>(null, 'select count(*)::int n from carillon.jobs')
      const expected = (count[0]!.n / intervalSec) * Math.round((to - from) / 1_000)
      return {
        lateness: rows.map(({ late }) => Number(late)).sort((a, b) => a - b),
        missing: expected - rows.length,
        doubled: rows.filter(({ n }) => n > 1).length,
      }
    }

    async function passes(ms: number): Promise<void> {
      const at = Date.now()
      await until(() => Date.now() - at >= ms, ms + 5_000)
    }

    /** Nothing due since `from` is missing or doubled, and from 5 s after `trouble` on everything is on time. */
    async function expectAllFired(name: string, from: number, trouble: number): Promise<void> {
      const to = second() - 1_000
      const p99 = (sorted: number[]) => sorted[Math.floor(sorted.length * 0.99)]!
      const { lateness, missing, doubled } = await fired(from, to)
      const after = await fired(Math.ceil(trouble / 1_000) * 1_000 + 5_000, to)
      const figures = {
        fired: lateness.length,
        p99Ms: p99(lateness),
        mostMs: lateness.at(-1),
        p99After5s: p99(after.lateness),
      }
      console.log(name, figures)
      expect({ missing, doubled }).toEqual({ missing: 0, doubled: 0 })
      expect(after.lateness.length).toBeGreaterThan(0)
      expect(p99(after.lateness)).toBeLessThan(500)
    }

    async function restart(withFolder = true): Promise<void> {
      const { port } = server
      await server.stop()
      server = await startRedis(withFolder ? { folder, port } : { port })
    }

    it('loses no occurrence over FLUSHALL while 500 jobs fire each second, and is on time within 5 s', async () => {
      await jobs(500)
      await scheduler.start()
      await isServedByRedis()
      const from = second() + 2_000
      await passes(5_000)
      const flushed = Date.now()
      const before = fallbacks
      await redisCommand(server, 'FLUSHALL')
      await passes(12_000)
      await expectAllFired('FLUSHALL', from, flushed)
      expect(fallbacks).toBeGreaterThan(before)
      await isServedByRedis()
    }, 90_000)

    it('loses no occurrence when Redis comes back with an old state, and is on time within 5 s', async () => {
      await jobs(200)
      await scheduler.start()
      await isServedByRedis()
      await redisCommand(server, 'SAVE')
      const from = second() + 2_000
      await passes(8_000)
      await restart()
      const back = Date.now()
      await passes(12_000)
      await expectAllFired('an old state', from, back)
      await isServedByRedis()
    }, 90_000)

    it.each([
      ['an old state', false],
      ['a state that ran out', true],
    ])(
      'that takes over and finds %s loses no occurrence, and is on time within 5 s',
      async (what, ranOut) => {
        await jobs(200)
        await scheduler.start()
        await isServedByRedis()
        await redisCommand(server, 'SAVE')
        const from = second() + 2_000
        await passes(8_000)
        await scheduler.stop()
        await source.idle()
        await connection.stop()
        await restart()
        connection = await connectRedis(server)
        if (ranOut)
          for (const { shard } of store.led)
            await redisCommand(server, 'DEL', connection.key(`shard-${shard}`, 'state'))
        const before = fallbacks
        const began = Date.now()
        lead()
        await scheduler.start()
        await passes(12_000)
        await expectAllFired(`took over ${what}`, from, began)
        // The old state is used as it is found.
        expect(fallbacks > before).toBe(ranOut)
      },
      90_000,
    )

    it('that gives its shards up and leads them again in the same epoch is on time within 5 s', async () => {
      await jobs(200)
      await scheduler.start()
      await isServedByRedis()
      const from = second() + 2_000
      await passes(5_000)
      const given = Date.now()
      led.set([])
      led.set(store.led)
      await passes(12_000)
      await expectAllFired('gave up and leads again', from, given)
    }, 90_000)

    it('goes on by PostgreSQL within seconds when Redis is gone, and by Redis again when it is back', async () => {
      await jobs(200)
      await scheduler.start()
      await isServedByRedis()
      const from = second() + 2_000
      await passes(4_000)
      const { port } = server
      const gone = Date.now()
      await server.stop()
      await passes(10_000)
      expect(fallbacks).toBeGreaterThan(0)
      server = await startRedis({ port })
      await isServedByRedis()
      await passes(4_000)
      await expectAllFired('gone and back', from, gone)
    }, 90_000)

    it('false entries put there by hand fire nothing, pause nothing and disappear', async () => {
      const far = await store.job({ nominal: second() + 1_800_000, interval: 'PT1H' })
      const near = await store.job({ nominal: second() + 4_000, interval: 'PT1H' })
      await scheduler.start()
      await isServedByRedis()
      const rows = await store.database.query<{ job_id: string; shard: number }>(
        null,
        'select job_id, shard from carillon.schedules',
      )
      const shardOf = (jobId: string) => rows.find((row) => row.job_id === jobId)!.shard
      const put = async (shard: number, jobId: string, head: string, due: number, text: string) => {
        const [version, nominal] = head.split(' ')
        const keyOf = (name: string) => connection.key(`shard-${shard}`, name)
        await redisCommand(server, 'HSET', keyOf('entries'), jobId, text)
        await redisCommand(server, 'ZADD', keyOf('due'), String(due), `${jobId}:${version}:${nominal}`)
      }
      const now = Date.now()
      // A job that does not exist; one whose id is none; the far one as if it were due, in another version; the near one with a definition that cannot be planned.
      await put(0, '00000000-0000-7000-8000-000000000000', `1 ${now}`, now, `1 ${now} ${now} 0 ${now} {}`)
      await put(0, 'nonsense', `1 ${now}`, now, 'nonsense')
      await put(shardOf(far), far, `9 ${now}`, now, `9 ${now} ${now} 0 ${now} AAAAAAAAAAAA {"jobId":"${far}"}`)
      const due = second() + 4_000
      await put(shardOf(near), near, `1 ${due}`, due, `1 ${due} ${due} 0 ${now} AAAAAAAAAAAA {"interval":"nonsense"}`)
      await until(async () => (await executionsOf(near)) === 1)
      expect(await executionsOf(far)).toBe(0)
      const states = await store.database.query<{ state: string }>(null, 'select state from carillon.jobs')
      expect(states.map(({ state }) => state)).toEqual(['ACTIVE', 'ACTIVE'])
      await until(async () => {
        const found = (await redisCommand(server, 'HKEYS', connection.key('shard-0', 'entries'))) as string[]
        return !found.includes('nonsense') && !found.includes('00000000-0000-7000-8000-000000000000')
      })
      const kept = await redisCommand(server, 'HGET', connection.key(`shard-${shardOf(far)}`, 'entries'), far)
      expect(String(kept)).toMatch(/^1 /)
    })

    async function executionsOf(jobId: string): Promise<number> {
      const sql = 'select count(*)::int n from carillon.executions where job_id = $1'
      return (await store.database.query<{ n: number }>(null, sql, [jobId]))[0]!.n
    }

    it('a new leader starts from what Redis has, without reading the schedules of PostgreSQL first', async () => {
      const jobIds = await Promise.all(Array.from({ length: 20 }, () => store.job({ nominal: second() + 1_500_000 })))
      await scheduler.start()
      await isServedByRedis()
      await scheduler.stop()
      const { database } = store
      const successor = new RedisDueSource({
        ...{ redis: connection, database, clock, isolation: new Isolation({ database, logger }), logger },
        onFallback: () => fallbacks++,
      })
      const before = fallbacks
      const raised = store.led.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }))
      const found = new Set<string>()
      await successor.claim({
        ...{ shards: raised, until: Date.now() + 3_000_000, behind: false },
        take: (entries) => {
          for (const entry of entries) if (entry.source === 'schedules') found.add(entry.jobId)
          return true
        },
      })
      expect(found).toEqual(new Set(jobIds))
      expect(fallbacks).toBe(before)
      await successor.idle()
    })
  })
})
