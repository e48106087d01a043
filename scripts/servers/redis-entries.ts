/** Measures what an entry of the hot window takes in Redis: `npx node scripts/servers/redis-entries.ts [entries]`. */
import { redisAddress } from '../../packages/server/src/config/redis-address.ts'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { RedisWindow } from '../../packages/server/src/due-source/redis-window.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { defineScript, RedisConnection } from '../../packages/server/src/redis/connection.ts'
import type { DueSchedule } from '../../packages/server/src/store/schedules/read-due.ts'
import { startRedis } from './redis.ts'

const count = Number(process.argv[2] ?? 1_000_000)
const shards = 64
const memoryScript = defineScript(`return string.match(redis.call('info', 'memory'), 'used_memory:(%d+)')`)

await using server = await startRedis()
const redis = new RedisConnection({
  address: redisAddress(server.url, 'signals'),
  installationId: async () => newId(1),
  logger: createLogger('warn'),
})
await redis.start()
const window = new RedisWindow(redis)
const now = Date.now()
const used = async () => Number(await redis.run(memoryScript, []))

function scheduleOf(shard: number, n: number): DueSchedule {
  const jobId = newId(now + n)
  const due = now + (n % 3_600_000)
  return {
    ...{ jobId, shard, version: 1, nominal: due, due, fires: 12 },
    job: {
      ...{ jobId, tenant: 'acme', runAt: null, schedule: '*/5 * * * *', interval: null, anchor: null },
      ...{ timezone: 'Europe/Berlin', dst: { gap: 'SHIFT', overlap: 'FIRST' }, dayFields: 'EITHER', startAt: null },
      ...{ endAt: null, maxFires: null, jitterSec: 0, misfire: 'FIRE_ONCE', misfireAfterSec: 60, maxCatchUp: 100 },
      ...{ graceSec: null, startWithinSec: null, overlap: 'ALLOW', pool: 'default', lane: 2 },
    } as DueSchedule['job'],
  }
}

const empty = await used()
for (let shard = 0; shard < shards; shard++) await window.empty({ shard, epoch: 1 }, 'g', now + 3_600_000)
const began = performance.now()
let bytes = 0
for (let made = 0; made < count; ) {
  const shard = Math.floor((made * shards) / count)
  const known = Array.from({ length: Math.min(500, count - made) }, (_, i) => scheduleOf(shard, made + i))
  bytes = JSON.stringify(known[0]!.job).length
  await window.put(
    shard,
    known.map((schedule) => ({ jobId: schedule.jobId, schedule })),
    { at: now, free: false },
  )
  made += known.length
}
const seconds = (performance.now() - began) / 1_000
const perEntry = ((await used()) - empty) / count
console.log({
  count,
  bytesPerEntry: Math.round(perEntry),
  definitionBytes: bytes,
  putsPerSecond: Math.round(count / seconds),
})
await redis.stop()
