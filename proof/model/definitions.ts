/** Jobs and work made up by chance: small numbers, so that everything that can happen happens within a short run. */
import type { When } from './oracle/graph.ts'
import type { AskedStep } from './oracle/runs.ts'
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
    after: null,
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

/** A small graph: steps that depend on any of those before them, one of which may wait for a signal. */
export function someGraph(random: Random): AskedStep[] {
  const steps: AskedStep[] = []
  for (let count = random.between(2, 6); steps.length < count; ) {
    const dependsOn = steps.flatMap((_, place) => (random.chance(1.4 / steps.length) ? [place] : [])).slice(0, 3)
    const on = random.of(dependsOn)
    const waitsForSignal = random.chance(0.18)
    steps.push({
      ...{ name: `s${steps.length}`, dependsOn, waitsForSignal, allowFailure: random.chance(0.25) },
      work: waitsForSignal ? signalWork(random) : stepWork(random),
      runIf:
        on === undefined ? 'ALL_SUCCEEDED' : random.pick(['ALL_SUCCEEDED', 'ALL_SUCCEEDED', 'ALL_DONE', 'ANY_FAILED']),
      when: on !== undefined && random.chance(0.25) ? someCondition(random, `s${on}`) : null,
    })
  }
  return steps
}

function someCondition(random: Random, step: string): When {
  return random.chance(0.6) ? { step, moreThan: random.between(1, 99) } : { step, succeeded: random.chance(0.5) }
}

/** With fewer limits in time, and ahead of others, or no run would come to its end. */
function stepWork(random: Random): Work {
  const work = { ...someWork(random), lane: random.pick([0, 0, 1, 2]) }
  return random.chance(0.7) ? { ...work, startWithinSec: null, deadlineSec: null } : work
}

/** Of what waits for a signal: one attempt, in the hands of the outside. */
function signalWork(random: Random): Work {
  return {
    ...someWork(random),
    ...{ pool: 'carillon.signal', maxAttempts: 1, cancelGraceSec: 0, timeoutSec: random.pick([5, 600, 3_600]) },
    ...{ heartbeatTimeoutSec: null, startWithinSec: null, deadlineSec: null, atMostOnce: false, notRetryable: [] },
  }
}
