import { describe, expect, it } from 'vitest'
import { addMonths, civilFromDays, dayMs, daysFromCivil, monthLength, weekdayOf } from './civil.ts'

describe('the calendar', () => {
  it('agrees with Date for every day from 1969 to 2401 and in year 9999', () => {
    const ranges = [
      [Date.UTC(1969, 0, 1), Date.UTC(2401, 0, 1)],
      [Date.UTC(9998, 0, 1), Date.UTC(9999, 11, 31)],
    ] as const
    for (const [from, to] of ranges) {
      for (let at = from; at <= to; at += dayMs) {
        const date = new Date(at)
        const civil = civilFromDays(at / dayMs)
        if (
          civil.year !== date.getUTCFullYear() ||
          civil.month !== date.getUTCMonth() + 1 ||
          civil.day !== date.getUTCDate() ||
          daysFromCivil(civil) !== at / dayMs ||
          weekdayOf(at / dayMs) !== date.getUTCDay()
        ) {
          expect.fail(`${date.toISOString()} became ${JSON.stringify(civil)}`)
        }
      }
    }
  })

  it('knows the leap years', () => {
    expect([1900, 2000, 2023, 2024, 2100, 2400].map((year) => monthLength(year, 2))).toEqual([28, 29, 28, 29, 28, 29])
  })

  it('clamps the day when months are added', () => {
    const start = { year: 2024, month: 1, day: 31 }
    expect(addMonths(start, 1)).toEqual({ year: 2024, month: 2, day: 29 })
    expect(addMonths(start, 13)).toEqual({ year: 2025, month: 2, day: 28 })
    expect(addMonths(start, 11)).toEqual({ year: 2024, month: 12, day: 31 })
    expect(addMonths(start, 12)).toEqual({ year: 2025, month: 1, day: 31 })
  })
})
