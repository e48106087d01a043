/**
 * Which days of a month a cron's two day fields admit. If both fields are restricted, the policy `dayFields` says whether
 * EITHER of them is enough or BOTH must match. The answer
 * depends only on the length of the month and the weekday it begins with: 28 cases, each a bit mask (bit 0 is the
 * 1st), computed once. So a date that no month has is found by looking at the masks, not by searching the calendar.
 */
import type { DayFields } from '@carillon/contract'
import type { CronFields, DaysOfMonth, DaysOfWeek } from './cron-fields.ts'

export class MonthDays {
  readonly #masks = new Int32Array(28)

  constructor(fields: Pick<CronFields, 'daysOfMonth' | 'daysOfWeek'>, dayFields: DayFields) {
    for (let length = 28; length <= 31; length++) {
      for (let firstWeekday = 0; firstWeekday < 7; firstWeekday++) {
        this.#masks[(length - 28) * 7 + firstWeekday] = maskOf(fields, dayFields, length, firstWeekday)
      }
    }
  }

  mask(length: number, firstWeekday: number): number {
    return this.#masks[(length - 28) * 7 + firstWeekday]!
  }

  /** Whether some month of these ever has such a day. Every month begins with every weekday within 400 years. */
  existsIn(months: Set<number>): boolean {
    for (const month of months) {
      const possible = month === 2 ? [28, 29] : [4, 6, 9, 11].includes(month) ? [30] : [31]
      for (const length of possible) {
        for (let firstWeekday = 0; firstWeekday < 7; firstWeekday++) {
          if (this.mask(length, firstWeekday) !== 0) return true
        }
      }
    }
    return false
  }
}

function maskOf(
  fields: Pick<CronFields, 'daysOfMonth' | 'daysOfWeek'>,
  dayFields: DayFields,
  length: number,
  firstWeekday: number,
): number {
  const { daysOfMonth, daysOfWeek } = fields
  let mask = 0
  for (let day = 1; day <= length; day++) {
    const weekday = (firstWeekday + day - 1) % 7
    const byMonth = () => matchesDayOfMonth(daysOfMonth, day, length, firstWeekday)
    const byWeek = () => matchesDayOfWeek(daysOfWeek, day, length, weekday)
    const matches =
      dayFields === 'EITHER' && daysOfMonth.restricted && daysOfWeek.restricted
        ? byMonth() || byWeek()
        : (!daysOfMonth.restricted || byMonth()) && (!daysOfWeek.restricted || byWeek())
    if (matches) mask |= 1 << (day - 1)
  }
  return mask
}

function matchesDayOfMonth(field: DaysOfMonth, day: number, length: number, firstWeekday: number): boolean {
  if (field.days.has(day) || field.beforeLast.has(length - day)) return true
  for (const before of field.nearestBeforeLast) {
    if (before < length && day === nearestWeekday(length - before, length, firstWeekday)) return true
  }
  for (const wanted of field.nearestWeekday) {
    if (wanted <= length && day === nearestWeekday(wanted, length, firstWeekday)) return true
  }
  return false
}

function matchesDayOfWeek(field: DaysOfWeek, day: number, length: number, weekday: number): boolean {
  if (field.weekdays.has(weekday)) return true
  if (field.last.has(weekday) && day + 7 > length) return true
  return field.nth.some((wanted) => wanted.weekday === weekday && wanted.nth === Math.ceil(day / 7))
}

/** The Monday to Friday nearest to `day`, never leaving the month. */
function nearestWeekday(day: number, length: number, firstWeekday: number): number {
  const weekday = (firstWeekday + day - 1) % 7
  if (weekday === 6) return day > 1 ? day - 1 : day + 2
  if (weekday === 0) return day < length ? day + 1 : day - 2
  return day
}
