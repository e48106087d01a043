/** Jobs as the seed draws them: every kind of schedule and every policy, in quick time. */
import type { JobInput } from '@carillon/contract'
import { drawLimits } from './limits.ts'
import type { Random } from './random.ts'
import type { StartTime } from './start-times.ts'
import { handlerName } from './worker.ts'

export const tenants = ['acme', 'globex'] as const

export function drawJob(random: Random, start: StartTime): JobInput {
  const everySec = random.whole(1, 8)
  const maybe = <T>(probability: number, value: () => T): T | undefined =>
    random.chance(probability) ? value() : undefined
  const timing: Pick<JobInput, 'type' | 'schedule' | 'interval' | 'timezone' | 'dst'> = random.chance(0.4)
    ? { type: 'INTERVAL', interval: `PT${everySec}S` }
    : {
        type: 'CRON',
        schedule: random.chance(0.5) ? `*/${everySec} * * * * *` : `*/${everySec} * ${start.hours} * * *`,
        timezone: random.chance(0.7) ? start.zone : 'UTC',
        dst: { gap: random.pick(['SHIFT', 'SKIP']), overlap: random.pick(['FIRST', 'SECOND', 'BOTH']) },
      }
  return defined({
    ...timing,
    ...drawPolicy(random),
    name: `job ${random.whole(1, 1_000_000)}`,
    target: { handler: handlerName },
    overlap: random.pick(['ALLOW', 'ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE']),
    misfire: random.pick(['FIRE_ONCE', 'FIRE_ALL', 'SKIP']),
    misfireAfterSec: random.pick([5, 20, 60]),
    maxCatchUp: random.pick([5, 1_000]),
    graceSec: maybe(0.15, () => random.whole(2, 90)),
    maxFires: maybe(0.15, () => random.whole(2, 20)),
    jitterSec: everySec > 1 ? maybe(0.25, () => everySec - 1) : undefined,
    startAt: maybe(0.1, () => new Date(start.at + random.whole(1, 20) * 1_000)),
    endAt: maybe(0.1, () => new Date(start.at + random.whole(20, 90) * 1_000)),
    pauseAfterFailures: maybe(0.15, () => random.whole(1, 3)),
  })
}

/** Its executions last as long as a run of that graph. */
export function drawGraphJob(random: Random, start: StartTime, dag: string): JobInput {
  const schedule = drawJob(random, start)
  const everySec = random.whole(3, 10)
  return defined({
    ...without(schedule, Object.keys(drawPolicy(random))),
    ...drawRunPolicy(random),
    ...(schedule.type === 'CRON' ? { schedule: `*/${everySec} * * * * *` } : { interval: `PT${everySec}S` }),
    ...(schedule.jitterSec !== undefined && { jitterSec: everySec - 1 }),
    target: { dag },
  })
}

/** It runs after the executions of another job. */
export function drawFollower(random: Random, followed: string): JobInput {
  return {
    ...drawPolicy(random),
    type: 'AFTER',
    after: { job: followed, on: random.pick(['SUCCEEDED', 'SUCCEEDED', 'FAILED', 'ENDED']) },
    name: `follower ${random.whole(1, 1_000_000)}`,
    target: { handler: handlerName },
    overlap: random.pick(['ALLOW', 'ALLOW', 'FORBID', 'QUEUE_ONE', 'REPLACE']),
  }
}

/** Of what waits for a run, whose steps have policies of their own. */
export function drawRunPolicy(random: Random): Partial<JobInput> {
  return defined({
    priority: random.pick(['HIGH', 'NORMAL', 'LOW']),
    retryPolicy: { maxAttempts: random.whole(1, 3), backoff: 'FIXED', initialDelayMs: random.whole(100, 2_000) },
    timeoutSec: random.chance(0.2) ? random.whole(3, 20) : undefined,
    startWithinSec: random.chance(0.1) ? random.whole(2, 10) : undefined,
    deadlineSec: random.chance(0.1) ? random.whole(5, 30) : undefined,
  })
}

export function drawPolicy(random: Random): Partial<JobInput> {
  return defined({
    priority: random.pick(['CRITICAL', 'HIGH', 'NORMAL', 'NORMAL', 'LOW']),
    retryPolicy: {
      maxAttempts: random.whole(1, 4),
      backoff: random.pick(['EXPONENTIAL', 'LINEAR', 'FIXED']),
      initialDelayMs: random.whole(100, 2_000),
      maxDelayMs: 4_000,
    },
    timeoutSec: random.whole(2, 6),
    cancelGraceSec: random.whole(0, 2),
    delivery: random.chance(0.15) ? 'AT_MOST_ONCE' : 'AT_LEAST_ONCE',
    startWithinSec: random.chance(0.15) ? random.whole(1, 10) : undefined,
    deadlineSec: random.chance(0.15) ? random.whole(5, 30) : undefined,
    heartbeatTimeoutSec: random.chance(0.1) ? random.whole(1, 4) : undefined,
    limits: drawLimits(random),
  })
}

function without<T extends object>(input: T, fields: readonly string[]): T {
  return Object.fromEntries(Object.entries(input).filter(([field]) => !fields.includes(field))) as T
}

/** Without what is undefined. */
function defined<T extends object>(input: T): T {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as T
}
