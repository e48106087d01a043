/**
 * Whole nodes with etcd and Redis, and each of these servers lost under them: no occurrence is missing, none runs twice. A node with
 * neither joins, as while an installation is switched over.
 */
import { type Carillon, defineHandler } from '@carillon/server'
import { afterAll, describe, expect, it } from 'vitest'
import { startEtcd } from '../../scripts/servers/etcd.ts'
import type { RunningServer } from '../../scripts/servers/process.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { testCarillon } from '../support/carillon.ts'
import { redisCommand } from '../support/redis.ts'
import { describeWith } from '../support/servers.ts'
import { until } from '../support/until.ts'

const tick = defineHandler<{ n: number }>({ name: 'tick' })
const jobs = 20
const leaseMs = 2_000

async function both(): Promise<RunningServer> {
  const etcd = await startEtcd()
  const redis = await startRedis().catch(async (error) => {
    await etcd.stop()
    throw error
  })
  servers = { etcd, redis }
  return etcd
}
let servers: { etcd: RunningServer; redis: RunningServer }

await describeWith('etcd and Redis', both, () => {
  const { etcd, redis } = servers
  afterAll(() => Promise.all([etcd.stop(), redis.stop()]))

  describe('nodes with etcd and Redis', () => {
    it('fire everything once while each server is lost and comes back', { timeout: 120_000 }, async () => {
      const runs = new Map<string, number>()
      const prepare = (carillon: Carillon) =>
        carillon.handle(tick, ({ executionId }) => {
          runs.set(executionId, (runs.get(executionId) ?? 0) + 1)
        })
      const scaleOut = {
        ...{ leadership: `${etcd.url}?fallback=postgres`, hotWindow: redis.url, signals: redis.url },
        ...{ leaseMs, statementTimeoutMs: 1_500 },
      }
      await using installation = await testCarillon(prepare, scaleOut)
      const { carillon } = installation
      const second = await installation.another()
      prepare(second)
      await second.start()
      const since = Date.now()
      const made = []
      for (let n = 0; n < jobs; n++) made.push(await carillon.schedule(tick, { n }, { cron: '* * * * * *' }))
      const more = async (count: number) => {
        const wanted = runs.size + count
        await until(() => runs.size >= wanted, 30_000)
      }
      await more(2 * jobs)
      await redisCommand(redis, 'FLUSHALL')
      await more(2 * jobs)
      await redis.kill()
      await more(2 * jobs)
      await redis.restart()
      await more(2 * jobs)
      await etcd.kill()
      await more(2 * jobs)
      await etcd.restart()
      await more(2 * jobs)
      // As an operator would go back: a node without either, then the others leave.
      const third = await installation.another({ leadership: undefined, hotWindow: undefined, signals: undefined })
      prepare(third)
      await third.start()
      await more(jobs)
      await second.stop()
      await carillon.stop()
      await more(2 * jobs)
      for (const { jobId } of made) await third.unschedule(jobId)
      const from = new Date(since).toISOString()
      await until(async () => (await third.verify({ from })).stuck === 0)
      const { missed, doubled, wrong, checked } = await third.verify({ from })
      expect({ missed, doubled, wrong }).toEqual({ missed: 0, doubled: 0, wrong: 0 })
      expect(checked.occurrences).toBeGreaterThan(10 * jobs)
      expect([...runs.values()].every((count) => count === 1)).toBe(true)
    })
  })
})
