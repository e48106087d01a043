/** What the oracle calls a definition, as callers write it. */
import type { JobInput } from '@carillon/contract'
import type { Definition, Work } from './oracle/world.ts'

export const handler = 'work'
const priorities = ['CRITICAL', 'HIGH', 'NORMAL', 'LOW'] as const

export function inputOf(definition: Definition): JobInput {
  const { key, startAt, endAt, maxFires, graceSec, pauseAfterFailures, work } = definition
  return {
    ...timesOf(definition),
    ...policyOf(work),
    target: { pool: work.pool, handler },
    ...(key !== null && { key }),
    ...(startAt !== null && { startAt }),
    ...(endAt !== null && { endAt }),
    ...(maxFires !== null && { maxFires }),
    ...(definition.jitterSec > 0 && { jitterSec: definition.jitterSec }),
    misfire: definition.misfire,
    misfireAfterSec: definition.misfireAfterSec,
    maxCatchUp: definition.maxCatchUp,
    ...(graceSec !== null && { graceSec }),
    overlap: definition.overlap,
    ...(pauseAfterFailures !== null && { pauseAfterFailures }),
  }
}

function timesOf({ every, runAt }: Definition): Pick<JobInput, 'type' | 'runAt' | 'interval' | 'schedule' | 'anchor'> {
  if (every === null) return { type: 'ONE_SHOT', runAt: runAt! }
  const seconds = every.ms / 1_000
  if (every.as === 'INTERVAL') return { type: 'INTERVAL', interval: `PT${seconds}S`, anchor: every.anchor }
  return { type: 'CRON', schedule: seconds === 60 ? '* * * * *' : `*/${seconds} * * * * *` }
}

export function policyOf(work: Work) {
  const { backoff, heartbeatTimeoutSec, startWithinSec, deadlineSec } = work
  return {
    priority: priorities[work.lane]!,
    retryPolicy: {
      maxAttempts: work.maxAttempts,
      ...(Array.isArray(backoff) ? { delaysMs: backoff } : { backoff }),
      ...{ initialDelayMs: work.initialDelayMs, factor: work.factor, maxDelayMs: work.maxDelayMs, jitter: 0 },
      ...(work.notRetryable.length > 0 && { nonRetryableErrors: work.notRetryable }),
    },
    timeoutSec: work.timeoutSec,
    cancelGraceSec: work.cancelGraceSec,
    unknownHandlerSec: work.unknownHandlerSec,
    ...(heartbeatTimeoutSec !== null && { heartbeatTimeoutSec }),
    ...(startWithinSec !== null && { startWithinSec }),
    ...(deadlineSec !== null && { deadlineSec }),
    ...(work.atMostOnce && { delivery: 'AT_MOST_ONCE' as const }),
  }
}
