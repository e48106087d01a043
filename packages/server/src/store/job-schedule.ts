/** From a job's row to the domain's schedule. */
import { occurrenceId, oneShotId } from '../domain/identity.ts'
import type { RecurringSpec } from '../domain/preview.ts'
import type { Schedule, ScheduleBounds } from '../domain/schedule.ts'
import { compileScheduleCached } from '../domain/schedule-cache.ts'
import { type JobRow, millis } from './rows.ts'

/** What of a definition says when it fires. */
export type TimesRow = Pick<
  JobRow,
  | ('job_id' | 'run_at' | 'cron' | 'interval' | 'timezone' | 'anchor' | 'start_at' | 'end_at')
  | ('dst_gap' | 'dst_overlap' | 'day_fields')
>

/** `runAt` is where a ONE_SHOT or DELAYED job stands: its only occurrence. */
export function scheduleOf(job: TimesRow, runAt: number | null): Schedule {
  return compileScheduleCached(recurringSpecOf(job) ?? { type: 'ONE_SHOT', runAt: runAt ?? millis(job.run_at)! })
}

/** Null: it fires once. */
export function recurringSpecOf(job: TimesRow): RecurringSpec | null {
  const { timezone } = job
  const dst = { gap: job.dst_gap, overlap: job.dst_overlap }
  if (job.cron !== null) return { type: 'CRON', expression: job.cron, timezone, dst, dayFields: job.day_fields }
  if (job.interval === null) return null
  return { type: 'INTERVAL', interval: job.interval, anchor: millis(job.anchor)!, timezone, dst }
}

export function boundsOf(job: TimesRow): ScheduleBounds {
  return { startAt: millis(job.start_at), endAt: millis(job.end_at) }
}

/** The id of a job's execution at a nominal time. */
export function executionIdOf(job: TimesRow, nominal: number): string {
  const recurring = job.cron !== null || job.interval !== null
  return recurring ? occurrenceId(job.job_id, nominal) : oneShotId(job.job_id, nominal)
}
