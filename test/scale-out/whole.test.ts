/**
 * Whole nodes with etcd, Redis and Kafka, and each of these servers lost under them: no occurrence is missing, none runs twice. A node
 * with none of them joins, as while an installation is switched over.
 */
import { type Carillon, defineHandler } from '@carillon/server'
import { afterAll, describe, expect, it } from 'vitest'
import { topicsOf } from '../../packages/server/src/queue/kafka/topics.ts'
import { startScaleOut } from '../../scripts/servers/scale-out.ts'
import { testCarillon } from '../support/carillon.ts'
import { deleteTopic } from '../support/kafka.ts'
import { redisCommand } from '../support/redis.ts'
import { describeWith } from '../support/servers.ts'
import { until } from '../support/until.ts'

const tick = defineHandler<{ n: number }>({ name: 'tick' })
const jobs = 20
const leaseMs = 2_000
/** So long after a loss everything is as before. What then counts as late, on a machine that does much else. */
const [settledMs, lateMs] = [5_000, 2_500]
const none = { leadership: undefined, hotWindow: undefined, signals: undefined, queue: undefined }

await describeWith('etcd, Redis and Kafka', startScaleOut, (servers) => {
  const [etcd, redis, kafka] = [servers.all.get('etcd')!, servers.all.get('redis')!, servers.all.get('kafka')!]
  afterAll(() => servers[Symbol.asyncDispose]())

  describe('nodes with etcd, Redis and Kafka', () => {
    it('fire everything once while each server is lost and comes back', { timeout: 180_000 }, async () => {
      const runs = new Map<string, number>()
      const started: { due: number; lateMs: number }[] = []
      const prepare = (carillon: Carillon) =>
        carillon.handle(tick, ({ executionId, scheduledFor }) => {
          runs.set(executionId, (runs.get(executionId) ?? 0) + 1)
          started.push({ due: scheduledFor.getTime(), lateMs: Date.now() - scheduledFor.getTime() })
        })
      const scaleOut = { ...servers.settings, leaseMs, statementTimeoutMs: 1_500 }
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
      for (const topic of topicsOf('carillon', 'default')) await deleteTopic(kafka, topic)
      const deletedAt = Date.now()
      await more(8 * jobs)
      const settled = () => started.filter(({ due }) => due > deletedAt + settledMs)
      await until(() => settled().length > 2 * jobs, 30_000)
      expect(Math.max(...settled().map((each) => each.lateMs))).toBeLessThan(lateMs)
      await kafka.kill()
      await more(2 * jobs)
      await kafka.restart()
      await more(2 * jobs)
      // As an operator would go back: a node without any, then the others leave.
      const third = await installation.another(none)
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
