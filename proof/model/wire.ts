/** What the oracle calls a definition, as callers write it. */
import type { DagStep, JobInput } from '@carillon/contract'
import type { When } from './oracle/graph.ts'
import type { AskedStep } from './oracle/runs.ts'
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

type Times = Pick<JobInput, 'type' | 'runAt' | 'interval' | 'schedule' | 'anchor' | 'after'>

function timesOf({ every, runAt, after }: Definition): Times {
  if (after !== null) return { type: 'AFTER', after }
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

/** The steps of a graph; those it depends on have lower places. */
export function stepsOf(steps: readonly AskedStep[]): DagStep[] {
  return steps.map(({ name, work, dependsOn, runIf, when, allowFailure, waitsForSignal }) => ({
    ...{ name, runIf, allowFailure, dependsOn: dependsOn.map((place) => steps[place]!.name) },
    ...(when !== null && { when: conditionOf(when) }),
    ...(waitsForSignal
      ? { waitFor: 'SIGNAL' as const, timeoutSec: work.timeoutSec, priority: priorities[work.lane]! }
      : { target: { pool: work.pool, handler }, ...policyOf(work) }),
  }))
}

function conditionOf(when: When): string {
  if ('moreThan' in when) return `results.${when.step}.n > ${when.moreThan}`
  return `states.${when.step} ${when.succeeded ? '==' : '!='} 'SUCCEEDED'`
}
