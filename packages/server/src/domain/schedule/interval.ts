/**
 * An interval is `anchor + n × duration`. Time parts are elapsed time, exact through every change of the clock. Date
 * parts are calendar arithmetic in the zone, always n × from the anchor and never from the occurrence before: so
 * 31 January + n × P1M is clamped to the end of short months and returns to the 31st. A wall clock that does not
 * exist or exists twice follows the DST policy. The anchor itself is the first occurrence, exactly as given.
 * [m] a step: elapsed 0.06 µs, calendar 1.5-4 µs, wherever it starts.
 */
import type { DstPolicy } from '@carillon/contract'
import { addMonths, type CivilDate, civilFromDays, dayMs, daysFromCivil } from './civil.ts'
import type { IntervalDuration } from './interval-duration.ts'
import { shortestNearChanges } from './near-changes.ts'
import type { Schedule } from './schedule.ts'
import { latestInstant } from './time-range.ts'
import type { Zone } from './zone.ts'
import { instantsOf } from './zone-spans.ts'

/** After 400 years the calendar repeats. */
const calendarMonths = 4_800
const averageMonthMs = 30.436875 * dayMs

/** Elapsed time only: everything is arithmetic. */
export class ElapsedInterval implements Schedule {
  readonly #anchor: number
  readonly periodMs: number

  constructor(anchor: number, periodMs: number) {
    this.#anchor = anchor
    this.periodMs = periodMs
  }

  next(after: number): number | null {
    const at = this.#anchor + this.#upTo(after) * this.periodMs
    return at <= latestInstant ? at : null
  }

  count(after: number, until: number): number {
    return until <= after ? 0 : this.#upTo(Math.min(until, latestInstant)) - this.#upTo(Math.min(after, latestInstant))
  }

  shortestDistance(): number {
    return this.periodMs
  }

  /** How many occurrences there are up to and including this instant. */
  #upTo(instant: number): number {
    return instant < this.#anchor ? 0 : Math.floor((instant - this.#anchor) / this.periodMs) + 1
  }
}

/** With date parts: at least a day apart on the calendar. */
export class CalendarInterval implements Schedule {
  readonly #anchor: number
  readonly #duration: IntervalDuration
  readonly #zone: Zone
  readonly #policy: DstPolicy
  readonly #anchorDate: CivilDate
  readonly #anchorTimeMs: number
  readonly #averageMs: number

  constructor(anchor: number, duration: IntervalDuration, zone: Zone, policy: DstPolicy) {
    this.#anchor = anchor
    this.#duration = duration
    this.#zone = zone
    this.#policy = policy
    const wall = zone.wallClock(anchor)
    const day = Math.floor(wall / dayMs)
    this.#anchorDate = civilFromDays(day)
    this.#anchorTimeMs = wall - day * dayMs
    this.#averageMs = duration.months * averageMonthMs + duration.days * dayMs + duration.timeMs
  }

  /**
   * Estimates n from the average length and corrects. Against the average, months drift by less than four days and
   * the zone by less than two, so three steps back is always early enough; from there it is a few steps forward.
   */
  next(after: number): number | null {
    if (after < this.#anchor) return this.#anchor
    for (let n = Math.max(1, Math.floor((after - this.#anchor) / this.#averageMs) - 3); ; n++) {
      const { wall, elapsedMs } = this.#nth(n)
      if (wall + elapsedMs > latestInstant + 2 * dayMs) return null
      for (const instant of instantsOf(this.#zone, wall, this.#policy)) {
        const at = instant + elapsedMs
        if (at > after) return at <= latestInstant ? at : null
      }
    }
  }

  count(after: number, until: number): number {
    let count = 0
    for (let at = this.next(after); at !== null && at <= until; at = this.next(at)) count++
    return count
  }

  shortestDistance(after: number, limitMs: number): number {
    let ordinary = this.#averageMs
    if (this.#duration.months > 0) {
      let previous = this.#nth(0)
      for (let n = 1; n <= calendarMonths; n++) {
        const next = this.#nth(n)
        ordinary = Math.min(ordinary, next.wall + next.elapsedMs - previous.wall - previous.elapsedMs)
        previous = next
      }
    }
    return Math.min(ordinary, shortestNearChanges(this, this.#zone, Math.max(after, this.#anchor - 1), limitMs))
  }

  #nth(n: number): { wall: number; elapsedMs: number } {
    const { months, days, timeMs } = this.#duration
    const day = daysFromCivil(months === 0 ? this.#anchorDate : addMonths(this.#anchorDate, n * months)) + n * days
    return { wall: day * dayMs + this.#anchorTimeMs, elapsedMs: n * timeMs }
  }
}
