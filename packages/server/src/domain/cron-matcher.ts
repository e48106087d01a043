/**
 * Steps from one matching wall-clock time to the next, and counts them, without knowing any zone. A wall clock is the
 * number of milliseconds it would be in UTC (see `civil.ts`). Both operations go by whole months, never by seconds,
 * so a year of a one-second cron is counted as fast as a year of a yearly one.
 */
import { CarillonError } from '@carillon/contract'
import { type CivilDate, civilFromDays, monthLength, weekdayOf } from './civil.ts'
import { MonthDays } from './cron-days.ts'
import { type CronFields, parseCron } from './cron-fields.ts'

const daySeconds = 86_400

export class CronMatcher {
  readonly followsElapsedTime: boolean
  readonly #seconds: Units
  readonly #minutes: Units
  readonly #hours: Units
  readonly #months: Set<number>
  readonly #days: MonthDays
  readonly #firstTime: number

  constructor(expression: string) {
    const fields: CronFields = parseCron(expression)
    this.followsElapsedTime = fields.followsElapsedTime
    this.#seconds = new Units(fields.seconds, 60)
    this.#minutes = new Units(fields.minutes, 60)
    this.#hours = new Units(fields.hours, 24)
    this.#months = fields.months
    this.#days = new MonthDays(fields)
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
    const date = civilFromDays(day)
    let found = -1
    if (this.#matchesDay(day, date)) {
      const time = this.#timeFrom(second - day * daySeconds)
      if (time >= 0) found = day * daySeconds + time
    }
    if (found < 0) {
      const later = this.#nextDay(day + 1, Math.floor(limit / (daySeconds * 1_000)))
      if (later === null) return null
      found = later * daySeconds + this.#firstTime
    }
    return found * 1_000 <= limit ? found * 1_000 : null
  }

  /** How many matches lie after `from` and not after `to`. */
  count(from: number, to: number): number {
    if (to <= from) return 0
    return this.#countUpTo(to) - this.#countUpTo(from) + this.#countDays(from, to) * this.#timesUpTo(daySeconds - 1)
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

/** A set of small numbers with its next member and its rank as look-ups. */
class Units {
  readonly size: number
  readonly #next: Int8Array
  readonly #below: Int8Array

  constructor(values: Set<number>, limit: number) {
    this.size = values.size
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
