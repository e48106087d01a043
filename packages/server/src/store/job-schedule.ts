/** From a job's definition to the domain's schedule. */
import { occurrenceId, oneShotId } from '../domain/identity.ts'
import type { RecurringSpec } from '../domain/schedule/preview.ts'
import type { Schedule, ScheduleBounds } from '../domain/schedule/schedule.ts'
import { compileScheduleCached } from '../domain/schedule/schedule-cache.ts'
import type { TimesDefinition } from './jobs/definition.ts'
import { millis } from './rows.ts'

/** `runAt`: the only occurrence of a ONE_SHOT or DELAYED job. */
export function scheduleOf(job: TimesDefinition, runAt: number | null): Schedule {
  return compileScheduleCached(recurringSpecOf(job) ?? { type: 'ONE_SHOT', runAt: runAt ?? millis(job.runAt)! })
}

/** Null: it fires once. */
export function recurringSpecOf(job: TimesDefinition): RecurringSpec | null {
  const { timezone, dst, dayFields } = job
  if (job.schedule !== null) return { type: 'CRON', expression: job.schedule, timezone, dst, dayFields }
  if (job.interval === null) return null
  return { type: 'INTERVAL', interval: job.interval, anchor: millis(job.anchor)!, timezone, dst }
}

export function boundsOf(job: TimesDefinition): ScheduleBounds {
  return { startAt: millis(job.startAt), endAt: millis(job.endAt) }
}

/** The id of a job's execution at a nominal time. */
export function executionIdOf(job: TimesDefinition, nominal: number): string {
  const recurring = job.schedule !== null || job.interval !== null
  return recurring ? occurrenceId(job.jobId, nominal) : oneShotId(job.jobId, nominal)
}
