import type { DayFields, Delivery, DstPolicy, MisfirePolicy, OverlapPolicy, Priority, RetryPolicy } from './words.ts'

/** What a job gets when it does not say otherwise. */
export const defaults = Object.freeze({
  tenant: 'default',
  pool: 'default',
  timezone: 'UTC',
  dst: Object.freeze({ gap: 'SHIFT', overlap: 'FIRST' }) as DstPolicy,
  dayFields: 'EITHER' as DayFields,
  priority: 'NORMAL' as Priority,
  retryPolicy: Object.freeze({
    maxAttempts: 4,
    backoff: 'EXPONENTIAL',
    initialDelayMs: 1_000,
    factor: 2,
    maxDelayMs: 300_000,
    jitter: 0.3,
  }) as RetryPolicy,
  timeoutSec: 300,
  overlap: 'ALLOW' as OverlapPolicy,
  misfire: 'FIRE_ONCE' as MisfirePolicy,
  misfireAfterSec: 60,
  maxCatchUp: 1_000,
  delivery: 'AT_LEAST_ONCE' as Delivery,
  retentionDays: 30,
  unknownHandlerSec: 600,
  cancelGraceSec: 10,
})

/** Limits that protect the installation from one caller. */
export const limits = Object.freeze({
  payloadBytes: 256 * 1024,
  resultBytes: 256 * 1024,
  progressBytes: 64 * 1024,
  /** Of payload, result and progress. With what is around them they stay below 100, which other languages read as shipped. */
  nesting: 96,
  errorBytes: 16 * 1024,
  labels: 16,
  nameLength: 200,
  /** That an execution names. */
  limitsNamed: 4,
  /** As it is asked for, placeholders included. */
  limitLength: 600,
  /** What is counted under the name of a limit. */
  limitKeyLength: 200,
  /** Of one graph. */
  steps: 1_000,
  /** Of one graph: dependencies of all steps together. */
  dependencies: 20_000,
  /** Of the list that a step runs over. */
  items: 10_000,
  /** Of the condition of a step, and of the way to its list. */
  conditionLength: 1_000,
  /** Results that a step gets of the steps it depends on, together. */
  stepInputBytes: 1024 * 1024,
  /** Of a cron expression. */
  scheduleLength: 1_000,
})
