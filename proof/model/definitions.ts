/** Jobs and work made up by chance: small numbers, so that everything that can happen happens within a short run. */
import type { Definition, Work } from './oracle/world.ts'
import type { Random } from './random.ts'
import { pools } from './rig.ts'

export function someWork(random: Random): Work {
  const sometimes = <T>(share: number, make: () => T) => (random.chance(share) ? make() : null)
  return {
    pool: random.chance(0.8) ? pools[0] : pools[1],
    lane: random.pick([0, 1, 2, 2, 2, 3]),
    maxAttempts: random.between(1, 4),
    backoff: random.pick<Work['backoff']>(['EXPONENTIAL', 'LINEAR', 'FIXED', [random.between(0, 3_000), 500]]),
    initialDelayMs: random.between(0, 4_000),
    factor: random.pick([1, 2, 3]),
    maxDelayMs: random.between(1_000, 10_000),
    notRetryable: random.chance(0.5) ? ['Hopeless'] : [],
    timeoutSec: random.pick([1, 5, 20, 300]),
    cancelGraceSec: random.pick([0, 2, 10]),
    heartbeatTimeoutSec: sometimes(0.25, () => random.between(2, 10)),
    startWithinSec: sometimes(0.3, () => random.between(1, 20)),
    deadlineSec: sometimes(0.3, () => random.between(5, 60)),
    atMostOnce: random.chance(0.2),
    unknownHandlerSec: random.pick([0, 1, 2, 600]),
  }
}

/** One that fires again and again. */
export function someRecurring(random: Random, now: number): Definition {
  const sometimes = <T>(share: number, make: () => T) => (random.chance(share) ? make() : null)
  const startAt = sometimes(0.15, () => now + random.between(-20_000, 20_000))
  return {
    key: null,
    every: someTimes(random, now),
    runAt: null,
    startAt,
    endAt: sometimes(0.15, () => now + random.between(100_000, 400_000)),
    maxFires: sometimes(0.2, () => random.between(1, 12)),
    jitterSec: random.chance(0.25) ? random.between(1, 4) : 0,
    misfire: random.pick(['FIRE_ONCE', 'FIRE_ALL', 'FIRE_ALL', 'SKIP']),
    misfireAfterSec: random.pick([0, 5, 20, 60]),
    maxCatchUp: random.between(1, 2),
    graceSec: sometimes(0.25, () => random.pick([0, 20, 60, 120])),
    overlap: random.pick(['ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE']),
    pauseAfterFailures: sometimes(0.4, () => random.between(1, 2)),
    work: someWork(random),
  }
}

/** Never less than five seconds apart: more than any jitter. */
export function someTimes(random: Random, now: number): NonNullable<Definition['every']> {
  const cron = random.chance(0.4)
  const ms = random.pick([5_000, 10_000, 15_000, 30_000, 60_000])
  if (cron) return { ms, anchor: 0, as: 'CRON' }
  return { ms, anchor: now - random.between(0, 100_000), as: 'INTERVAL' }
}
