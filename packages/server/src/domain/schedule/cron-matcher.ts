/**
 * Steps from one matching wall-clock time to the next, and counts them, without knowing any zone. A wall clock is the
 * number of milliseconds it would be in UTC (see `civil.ts`). Both operations go by whole months, never by seconds,
 * so a year of a one-second cron is counted as fast as a year of a yearly one.
 */
import { CarillonError, type DayFields } from '@carillon/contract'
import { type CivilDate, civilFromDays, monthLength, weekdayOf } from './civil.ts'
import { MonthDays } from './cron-days.ts'
import { type CronFields, parseCron } from './cron-fields.ts'

const daySeconds = 86_400
/** Days in 400 years, after which the calendar repeats, weekdays included. */
const calendarDays = 146_097

export class CronMatcher {
  readonly followsElapsedTime: boolean
  readonly #seconds: Units
  readonly #minutes: Units
  readonly #hours: Units
  readonly #months: Set<number>
  readonly #days: MonthDays
  readonly #firstTime: number

  constructor(expression: string, dayFields: DayFields) {
    const fields: CronFields = parseCron(expression)
    this.followsElapsedTime = fields.followsElapsedTime
    this.#seconds = new Units(fields.seconds, 60)
    this.#minutes = new Units(fields.minutes, 60)
    this.#hours = new Units(fields.hours, 24)
    this.#months = fields.months
    this.#days = new MonthDays(fields, dayFields)
    this.#firstTime = this.#timeFrom(0)
    if (!this.#days.existsIn(fields.months)) {
      throw new CarillonError('SCHEDULE_NEVER_FIRES', {
        pointer: '/schedule',
        message: `"${expression.trim()}" names a day that none of its months has`,
        hint: 'Name a day the month has; L is the last day of every month',
      })
    }
  }

  matches(wall: number): boolean {
    return this.next(wall - 1, wall) === wall
  }

  /** The first match after `wall`, or null if there is none up to `limit`. */
  next(wall: number, limit: number): number | null {
    const second = Math.floor(wall / 1_000) + 1
    const day = Math.floor(second / daySeconds)
    const time = this.#matchesDay(day, civilFromDays(day)) ? this.#timeFrom(second - day * daySeconds) : -1
    if (time >= 0) return within((day * daySeconds + time) * 1_000, limit)
    const later = this.#nextDay(day + 1, Math.floor(limit / (daySeconds * 1_000)))
    return later === null ? null : within((later * daySeconds + this.#firstTime) * 1_000, limit)
  }

  /** How many matches lie after `from` and not after `to`. */
  count(from: number, to: number): number {
    if (to <= from) return 0
    return this.#countUpTo(to) - this.#countUpTo(from) + this.#countDays(from, to) * this.#timesUpTo(daySeconds - 1)
  }

  /**
   * The shortest distance between two neighbouring matches, if it is at most `limitMs`; otherwise some longer one. Follows
   * from the sets level by level; the days are walked through only if it depends on them.
   */
  shortestDistance(limitMs: number): number {
    let shortest = Infinity
    let width = 0
    for (const [units, seconds] of [
      [this.#seconds, 1],
      [this.#minutes, 60],
      [this.#hours, 3_600],
    ] as const) {
      shortest = Math.min(shortest, units.closest * seconds - width)
      width += (units.last - units.first) * seconds
    }
    const nextDay = daySeconds - width
    if (nextDay * 1_000 > limitMs || nextDay >= shortest) return Math.min(shortest, nextDay) * 1_000
    return Math.min(shortest, this.#closestDays() * daySeconds - width) * 1_000
  }

  /** The fewest days from one matching day to the next, over the 400 years after which the calendar repeats. */
  #closestDays(): number {
    let closest = Infinity
    let day = this.#nextDay(0, calendarDays)
    while (day !== null && closest > 1) {
      const next: number | null = this.#nextDay(day + 1, 2 * calendarDays)
      if (next === null || day > calendarDays) break
      closest = Math.min(closest, next - day)
      day = next
    }
    return closest
  }

  /** Matches from midnight up to this wall clock. */
  #countUpTo(wall: number): number {
    const second = Math.floor(wall / 1_000)
    const day = Math.floor(second / daySeconds)
    return this.#matchesDay(day, civilFromDays(day)) ? this.#timesUpTo(second - day * daySeconds) : 0
  }

  /** Matching days from that of `from` up to, not including, that of `to`. */
  #countDays(from: number, to: number): number {
    const last = Math.floor(to / (daySeconds * 1_000)) - 1
    let day = Math.floor(from / (daySeconds * 1_000))
    let { year, month, day: dayOfMonth } = civilFromDays(day)
    let count = 0
    while (day <= last) {
      const length = monthLength(year, month)
      const left = Math.min(length - dayOfMonth, last - day)
      if (this.#months.has(month)) {
        const mask = this.#days.mask(length, weekdayOf(day - dayOfMonth + 1)) >> (dayOfMonth - 1)
        count += bitCount(left >= 30 ? mask : mask & ((1 << (left + 1)) - 1))
      }
      day += length - dayOfMonth + 1
      dayOfMonth = 1
      if (++month > 12) {
        month = 1
        year++
      }
    }
    return count
  }

  #matchesDay(day: number, { year, month, day: dayOfMonth }: CivilDate): boolean {
    if (!this.#months.has(month)) return false
    const mask = this.#days.mask(monthLength(year, month), weekdayOf(day - dayOfMonth + 1))
    return ((mask >> (dayOfMonth - 1)) & 1) === 1
  }

  /** The first matching day from `day` on. */
  #nextDay(day: number, limit: number): number | null {
    let { year, month, day: dayOfMonth } = civilFromDays(day)
    while (day <= limit) {
      const length = monthLength(year, month)
      if (this.#months.has(month)) {
        const mask = this.#days.mask(length, weekdayOf(day - dayOfMonth + 1)) >> (dayOfMonth - 1)
        if (mask !== 0) return day + (31 - Math.clz32(mask & -mask))
      }
      day += length - dayOfMonth + 1
      dayOfMonth = 1
      if (++month > 12) {
        month = 1
        year++
      }
    }
    return null
  }

  /** The first matching second of the day from `second` on, or -1. */
  #timeFrom(second: number): number {
    let hour = Math.floor(second / 3_600)
    let minute = Math.floor(second / 60) % 60
    const exact = this.#hours.has(hour)
    if (exact && this.#minutes.has(minute)) {
      const rest = this.#seconds.from(second % 60)
      if (rest >= 0) return hour * 3_600 + minute * 60 + rest
    }
    if (exact) {
      minute = this.#minutes.from(minute + 1)
      if (minute >= 0) return hour * 3_600 + minute * 60 + this.#seconds.from(0)
    }
    hour = this.#hours.from(hour + 1)
    return hour < 0 ? -1 : hour * 3_600 + this.#minutes.from(0) * 60 + this.#seconds.from(0)
  }

  /** How many times of the day match, from midnight up to `second`. */
  #timesUpTo(second: number): number {
    const hour = Math.floor(second / 3_600)
    const minute = Math.floor(second / 60) % 60
    const perMinute = this.#seconds.size
    let count = this.#hours.below(hour) * this.#minutes.size * perMinute
    if (!this.#hours.has(hour)) return count
    count += this.#minutes.below(minute) * perMinute
    return this.#minutes.has(minute) ? count + this.#seconds.below((second % 60) + 1) : count
  }
}

function within(wall: number, limit: number): number | null {
  return wall <= limit ? wall : null
}

/** A set of small numbers with its next member and its rank as look-ups. */
class Units {
  readonly size: number
  readonly first: number
  readonly last: number
  /** The shortest distance between two neighbouring members; Infinity if there is one only. */
  readonly closest: number
  readonly #next: Int8Array
  readonly #below: Int8Array

  constructor(values: Set<number>, limit: number) {
    const ordered = [...values].sort((a, b) => a - b)
    this.size = values.size
    this.first = ordered[0]!
    this.last = ordered.at(-1)!
    this.closest = Math.min(...ordered.slice(1).map((value, i) => value - ordered[i]!))
    this.#next = new Int8Array(limit + 1).fill(-1)
    this.#below = new Int8Array(limit + 1)
    for (let value = limit - 1; value >= 0; value--)
      this.#next[value] = values.has(value) ? value : this.#next[value + 1]!
    for (let value = 1; value <= limit; value++)
      this.#below[value] = this.#below[value - 1]! + (values.has(value - 1) ? 1 : 0)
  }

  has(value: number): boolean {
    return this.#next[value] === value
  }

  /** The first member from `value` on, or -1. */
  from(value: number): number {
    return this.#next[value]!
  }

  /** How many members are smaller than `value`. */
  below(value: number): number {
    return this.#below[value]!
  }
}

function bitCount(mask: number): number {
  mask -= (mask >>> 1) & 0x55555555
  mask = (mask & 0x33333333) + ((mask >>> 2) & 0x33333333)
  return Math.imul((mask + (mask >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
