/**
 * A schedule is a strictly increasing sequence of instants (ms since 1970) within the years 1970 to 9999. It has no
 * clock and no memory of what fired: the same question always has the same answer, on every node, so the occurrences
 * of a job can be recomputed afterwards and compared with the ledger.
 */
import type { DayFields, DstPolicy } from '@carillon/contract'
import { CronSchedule } from './cron.ts'
import { CalendarInterval, ElapsedInterval } from './interval.ts'
import { parseDuration } from './interval-duration.ts'
import { checkInstant, latestInstant } from './time-range.ts'
import { zoneNamed } from './zone.ts'

export type ScheduleSpec =
  | { type: 'ONE_SHOT'; runAt: number }
  | { type: 'CRON'; expression: string; timezone: string; dst: DstPolicy; dayFields: DayFields }
  | { type: 'INTERVAL'; interval: string; anchor: number; timezone: string; dst: DstPolicy }

export interface Schedule {
  /** The first occurrence strictly after `after`, or null if there is none. */
  next(after: number): number | null
  /** How many occurrences lie after `after` and not after `until`. Does not step through seconds: a year is cheap. */
  count(after: number, until: number): number
  /**
   * The shortest distance between two neighbouring occurrences after `after`, if it is at most `limitMs`; otherwise some
   * longer one, or Infinity.
   */
  shortestDistance(after: number, limitMs: number): number
  /** Of one that is elapsed time only: every occurrence is this much after the one before. */
  readonly periodMs?: number
}

/** Both inclusive: an occurrence exactly at `startAt` or at `endAt` fires. Null is no bound. */
export interface ScheduleBounds {
  startAt: number | null
  endAt: number | null
}

export const unbounded: ScheduleBounds = Object.freeze({ startAt: null, endAt: null })

export function compileSchedule(spec: ScheduleSpec): Schedule {
  switch (spec.type) {
    case 'ONE_SHOT':
      checkInstant(spec.runAt, '/runAt')
      return new OneShot(spec.runAt)
    case 'CRON':
      return new CronSchedule(spec.expression, zoneNamed(spec.timezone), spec.dst, spec.dayFields)
    case 'INTERVAL': {
      checkInstant(spec.anchor, '/anchor')
      const zone = zoneNamed(spec.timezone)
      const duration = parseDuration(spec.interval)
      return duration.months === 0 && duration.days === 0
        ? new ElapsedInterval(spec.anchor, duration.timeMs)
        : new CalendarInterval(spec.anchor, duration, zone, spec.dst)
    }
  }
}

class OneShot implements Schedule {
  readonly #runAt: number

  constructor(runAt: number) {
    this.#runAt = runAt
  }

  next(after: number): number | null {
    return after < this.#runAt ? this.#runAt : null
  }

  count(after: number, until: number): number {
    return after < this.#runAt && this.#runAt <= until ? 1 : 0
  }

  shortestDistance(): number {
    return Infinity
  }
}

/** The first occurrence after `after` that the bounds allow. */
export function nextWithin(schedule: Schedule, bounds: ScheduleBounds, after: number): number | null {
  const next = schedule.next(bounds.startAt === null ? after : Math.max(after, bounds.startAt - 1))
  return next !== null && (bounds.endAt === null || next <= bounds.endAt) ? next : null
}

/** How many occurrences that the bounds allow lie after `after` and not after `until`. */
export function countWithin(schedule: Schedule, bounds: ScheduleBounds, after: number, until: number): number {
  const from = bounds.startAt === null ? after : Math.max(after, bounds.startAt - 1)
  return schedule.count(from, bounds.endAt === null ? until : Math.min(until, bounds.endAt))
}

/** The next occurrences, at most `count`: the preview. */
export function upcoming(schedule: Schedule, bounds: ScheduleBounds, after: number, count: number): number[] {
  const occurrences: number[] = []
  let next = nextWithin(schedule, bounds, after)
  while (next !== null && occurrences.length < count) {
    occurrences.push(next)
    next = nextWithin(schedule, bounds, next)
  }
  return occurrences
}

/**
 * The last occurrence before `before` and after `after`, or null. `next` never decreases as its argument grows, so
 * this is a bisection over it: some thirty steps however many occurrences lie between.
 */
export function previousWithin(
  schedule: Schedule,
  bounds: ScheduleBounds,
  after: number,
  before: number,
): number | null {
  const limit = Math.min(before, latestInstant + 1)
  let found = nextWithin(schedule, bounds, after)
  if (found === null || found >= limit) return null
  let low = found
  let high = limit
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const candidate = nextWithin(schedule, bounds, middle)
    if (candidate !== null && candidate < limit) {
      found = candidate
      low = candidate
    } else {
      high = middle
    }
  }
  return found
}
