/**
 * The proleptic Gregorian calendar as plain integer arithmetic. A wall clock is a number here: the milliseconds
 * since 1970 that the same date and time would have in UTC. No `Date` and no zone: a step of a cron costs two of these
 * conversions, so they must stay free of allocation-heavy library calls (each is about 10 ns).
 */

export const dayMs = 86_400_000

export interface CivilDate {
  year: number
  /** 1 to 12. */
  month: number
  /** 1 to 31. */
  day: number
}

/** Days since 1970-01-01 to a date. Years are counted from 1 March, so that the leap day comes last. */
export function civilFromDays(days: number): CivilDate {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - (dayOfEra === 146_096 ? 1 : 0)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

/** A date to days since 1970-01-01. */
export function daysFromCivil({ year, month, day }: CivilDate): number {
  const yearFromMarch = month <= 2 ? year - 1 : year
  const era = Math.floor(yearFromMarch / 400)
  const yearOfEra = yearFromMarch - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function monthLength(year: number, month: number): number {
  if (month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)) return 29
  return lengths[month - 1]!
}

/** 0 is Sunday, as in cron. */
export function weekdayOf(days: number): number {
  return (((days + 4) % 7) + 7) % 7
}

/** A wall clock moved by whole months, the day clamped to the length of the month it lands in. */
export function addMonths(date: CivilDate, months: number): CivilDate {
  const index = date.year * 12 + (date.month - 1) + months
  const year = Math.floor(index / 12)
  const month = index - year * 12 + 1
  return { year, month, day: Math.min(date.day, monthLength(year, month)) }
}
