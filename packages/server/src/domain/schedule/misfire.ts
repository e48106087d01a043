/**
 * What one FIRE does with one schedule row: which occurrences fire, which are skipped and why, where the row moves to.
 *
 * Due are the occurrences from `nominal` on with dueAt = occurrence + jitter <= now. Each of them ends up exactly once
 * in `fire` or in `skips`, by its age (now - dueAt):
 *   older than graceSec               skipped, GRACE_EXCEEDED, whatever else holds
 *   older than misfireAfterSec        misfired: FIRE_ONCE fires the latest misfired one, FIRE_ALL the newest
 *                                     `maxCatchUp`, SKIP none; the rest is skipped (MISFIRED, under FIRE_ALL
 *                                     CATCH_UP_LIMIT)
 *   otherwise                         merely late: fires
 * So FIRE_ONCE fires the latest misfired one *and* every later one that is not misfired: a recent occurrence never
 * costs an older one its only run. `firesLeft` counts fires, not skips, in ascending order; when it is used up the
 * row has no further occurrence, and what would have been due after the last fire does not exist.
 *
 * Work is bounded: skipped stretches are counted, never listed, and one plan fires at most `firesPerPlan`. A plan cut
 * short there has `next` at the first occurrence it did not reach, which may be due already: the following call goes on
 * from it. Nothing is lost or doubled between the two; ages are taken anew.
 * [m] on time: 0.2-0.6 µs; a one-second cron that was down for a year: 27 µs under FIRE_ONCE, 400 µs under FIRE_ALL.
 */
import type { MisfirePolicy } from '@carillon/contract'
import { countWithin, nextWithin, previousWithin, type Schedule, type ScheduleBounds } from './schedule.ts'

/** The most occurrences one plan fires: what one transaction writes for one job stays small. */
export const firesPerPlan = 1_000

export interface FirePlanInput {
  schedule: Schedule
  bounds: ScheduleBounds
  /** The occurrence the row stands at: not yet fired. */
  nominal: number
  /** dueAt = nominal + jitterMs. */
  jitterMs: number
  now: number
  misfire: MisfirePolicy
  misfireAfterSec: number
  maxCatchUp: number
  /** Null: no limit. */
  graceSec: number | null
  /** `maxFires` minus fires so far; null: unlimited. */
  firesLeft: number | null
}

export type PlannedSkipReason = 'MISFIRED' | 'GRACE_EXCEEDED' | 'CATCH_UP_LIMIT'

/** Consecutive occurrences skipped for one reason. */
export interface SkippedRange {
  first: number
  last: number
  count: number
}

export interface FirePlan {
  /** Ascending. */
  fire: { nominal: number; dueAt: number }[]
  /** Ascending, disjoint from `fire`. */
  skips: (SkippedRange & { reason: PlannedSkipReason })[]
  /** Where the row moves to. Null: no further occurrence (bounds, maxFires or schedule exhausted). */
  next: number | null
}

export function planFire(input: FirePlanInput): FirePlan {
  const { schedule, bounds, jitterMs, now } = input
  const plan: FirePlan = { fire: [], skips: [], next: firstAllowed(schedule, bounds, input.nominal) }
  const lastDue = now - jitterMs
  const graceFrom = input.graceSec === null ? -Infinity : lastDue - input.graceSec * 1_000
  const lateFrom = Math.max(graceFrom, lastDue - input.misfireAfterSec * 1_000)
  const fireable = Math.min(input.firesLeft ?? Infinity, firesPerPlan)
  if (input.firesLeft !== null && input.firesLeft <= 0) return { ...plan, next: null }

  skipUntil(input, plan, graceFrom, 'GRACE_EXCEEDED')
  if (input.misfire === 'SKIP') skipUntil(input, plan, lateFrom, 'MISFIRED')
  if (input.misfire === 'FIRE_ONCE') skipUntil(input, plan, newest(input, plan, lateFrom, 1), 'MISFIRED')
  if (input.misfire === 'FIRE_ALL') {
    skipUntil(input, plan, newest(input, plan, lateFrom, input.maxCatchUp), 'CATCH_UP_LIMIT')
  }
  while (plan.next !== null && plan.next <= lastDue && plan.fire.length < fireable) {
    plan.fire.push({ nominal: plan.next, dueAt: plan.next + jitterMs })
    plan.next = nextWithin(schedule, bounds, plan.next)
  }
  if (input.firesLeft !== null && plan.fire.length >= input.firesLeft) plan.next = null
  return plan
}

/** Skips everything from where the plan stands up to, not including, `until`. */
function skipUntil(
  { schedule, bounds }: FirePlanInput,
  plan: FirePlan,
  until: number,
  reason: PlannedSkipReason,
): void {
  if (plan.next === null || plan.next >= until) return
  const skipped = rangeFrom(schedule, bounds, plan.next, until)
  plan.skips.push({ reason, ...skipped })
  plan.next = nextWithin(schedule, bounds, skipped.last)
}

/** The instant from which on only the newest `most` occurrences before `until` lie. */
function newest({ schedule, bounds }: FirePlanInput, plan: FirePlan, until: number, most: number): number {
  if (plan.next === null || plan.next >= until || most <= 0) return until
  if (1 + countWithin(schedule, bounds, plan.next, until - 1) <= most) return plan.next
  // Bisect for the latest instant after which `most` are left.
  let low = plan.next
  let high = until
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (countWithin(schedule, bounds, middle - 1, until - 1) >= most) low = middle
    else high = middle
  }
  return low
}

/**
 * What a paused job missed: the occurrences from `nominal` on that were due (dueAt <= until), to be recorded as
 * skipped with reason PAUSED, and the occurrence its row moves to. Null `missed`: nothing was due.
 */
export function missedWhilePaused(
  schedule: Schedule,
  bounds: ScheduleBounds,
  nominal: number,
  until: number,
  jitterMs = 0,
): { missed: (SkippedRange & { reason: 'PAUSED' }) | null; next: number | null } {
  const first = firstAllowed(schedule, bounds, nominal)
  const lastDue = until - jitterMs
  if (first === null || first > lastDue) return { missed: null, next: first }
  const range = rangeFrom(schedule, bounds, first, lastDue + 1)
  return { missed: { reason: 'PAUSED', ...range }, next: nextWithin(schedule, bounds, range.last) }
}

/** `first` and the occurrences after it, up to, not including, `until`. */
function rangeFrom(schedule: Schedule, bounds: ScheduleBounds, first: number, until: number): SkippedRange {
  const last = previousWithin(schedule, bounds, first, until) ?? first
  return { first, last, count: 1 + (last === first ? 0 : countWithin(schedule, bounds, first, last)) }
}

/** The row's occurrence, unless the bounds (changed since it was computed) no longer allow it. */
function firstAllowed(schedule: Schedule, bounds: ScheduleBounds, nominal: number): number | null {
  const { startAt, endAt } = bounds
  const allowed = (startAt === null || nominal >= startAt) && (endAt === null || nominal <= endAt)
  return allowed ? nominal : nextWithin(schedule, bounds, nominal)
}
