import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelInstants } from './cron-model.test-support.ts'
import { compiling, everyPolicy, fires, instant, interval, shiftFirst } from './schedule.test-support.ts'
import { unbounded, upcoming } from './schedule.ts'

describe('elapsed time', () => {
  it('counts from the anchor, which is the first occurrence', () => {
    const schedule = interval('PT90S', '2025-01-01T00:00:00Z')
    expect(schedule.next(instant('2020-01-01T00:00Z'))).toBe(instant('2025-01-01T00:00:00Z'))
    expect(schedule.next(instant('2025-01-01T00:00:00Z'))).toBe(instant('2025-01-01T00:01:30Z'))
    expect(schedule.next(instant('2025-01-01T00:01:29.999Z'))).toBe(instant('2025-01-01T00:01:30Z'))
    expect(schedule.next(instant('2025-01-01T00:01:30Z'))).toBe(instant('2025-01-01T00:03:00Z'))
  })

  it('is exact through a change of the clock: PT24H is not P1D', () => {
    const zone = 'America/New_York'
    const anchor = '2025-03-08T12:00-05:00'
    expect(fires(interval('PT24H', anchor, zone), anchor, 1, zone)).toEqual(['2025-03-09T13:00-04:00'])
    expect(fires(interval('P1D', anchor, zone), anchor, 1, zone)).toEqual(['2025-03-09T12:00-04:00'])
  })

  it('takes fractions of a second', () => {
    const schedule = interval('PT1.25S', '2025-01-01T00:00:00Z')
    expect(schedule.next(instant('2025-01-01T00:00:00Z'))).toBe(instant('2025-01-01T00:00:01.250Z'))
  })

  it('ends with the year 9999', () => {
    const schedule = interval('PT1H', '9999-12-31T23:30:00Z')
    expect(schedule.next(instant('9999-12-31T23:00:00Z'))).toBe(instant('9999-12-31T23:30:00Z'))
    expect(schedule.next(instant('9999-12-31T23:30:00Z'))).toBeNull()
    expect(interval('P1Y', '9999-06-01T00:00Z').next(instant('9999-07-01T00:00Z'))).toBeNull()
    expect(interval('P1000Y', '2000-01-01T00:00Z').next(instant('9000-07-01T00:00Z'))).toBeNull()
  })
})

describe('calendar', () => {
  it('is clamped to short months and returns to the 31st', () => {
    const anchor = '2024-01-31T08:00Z'
    expect(fires(interval('P1M', anchor), anchor, 4).map((text) => text.slice(0, 10))).toEqual([
      '2024-02-29',
      '2024-03-31',
      '2024-04-30',
      '2024-05-31',
    ])
    expect(
      fires(interval('P1Y', '2024-02-29T00:00Z'), '2026-06-01T00:00Z', 2).map((text) => text.slice(0, 10)),
    ).toEqual(['2027-02-28', '2028-02-29'])
  })

  it('adds weeks, and mixes dates and times', () => {
    expect(fires(interval('P2W', '2025-01-01T00:00Z'), '2025-01-01T00:00Z', 1)).toEqual(['2025-01-15T00:00+00:00'])
    expect(fires(interval('P1DT12H', '2025-01-01T00:00Z'), '2025-01-01T00:00Z', 3)).toEqual([
      '2025-01-02T12:00+00:00',
      '2025-01-04T00:00+00:00',
      '2025-01-05T12:00+00:00',
    ])
  })

  const zone = 'America/New_York'

  it.each([
    ['SHIFT', ['2025-03-09T03:30-04:00', '2025-03-10T02:30-04:00']],
    ['SKIP', ['2025-03-10T02:30-04:00', '2025-03-11T02:30-04:00']],
  ] as const)('a time in a gap under %s', (gap, expected) => {
    const schedule = interval('P1D', '2025-03-01T02:30-05:00', zone, { gap, overlap: 'FIRST' })
    expect(fires(schedule, '2025-03-08T12:00-05:00', 2, zone)).toEqual(expected)
  })

  it.each([
    ['FIRST', ['2025-11-02T01:30-04:00', '2025-11-03T01:30-05:00']],
    ['SECOND', ['2025-11-02T01:30-05:00', '2025-11-03T01:30-05:00']],
    ['BOTH', ['2025-11-02T01:30-04:00', '2025-11-02T01:30-05:00']],
  ] as const)('a time that comes twice under %s', (overlap, expected) => {
    const schedule = interval('P1D', '2025-10-01T01:30-04:00', zone, { gap: 'SHIFT', overlap })
    expect(fires(schedule, '2025-11-01T12:00-04:00', 2, zone)).toEqual(expected)
  })

  it('Apia had no 30 December 2011: two days share one instant, which comes once', () => {
    const schedule = interval('P1D', '2011-12-28T08:00-10:00', 'Pacific/Apia')
    expect(fires(schedule, '2011-12-29T00:00-10:00', 3, 'Pacific/Apia')).toEqual([
      '2011-12-29T08:00-10:00',
      '2011-12-31T08:00+14:00',
      '2012-01-01T08:00+14:00',
    ])
  })
})

describe('anchor + n x duration, against Temporal', () => {
  const durations = fc
    .record({
      years: fc.integer({ min: 0, max: 2 }),
      months: fc.integer({ min: 0, max: 14 }),
      weeks: fc.integer({ min: 0, max: 2 }),
      days: fc.integer({ min: 0, max: 40 }),
      hours: fc.constantFrom(0, 0, 0, 1, 12, 36),
      minutes: fc.constantFrom(0, 0, 0, 30),
    })
    .filter((parts) => parts.years + parts.months + parts.weeks + parts.days > 0)
  const zones = ['America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca', 'Asia/Beirut', 'UTC']

  it('has every occurrence, in order, and finds each from anywhere', () => {
    fc.assert(
      fc.property(
        durations,
        fc.integer({ min: 0, max: instant('2035-01-01T00:00Z') }),
        fc.constantFrom(...zones),
        fc.constantFrom(...everyPolicy),
        fc.integer({ min: 0, max: 300 }),
        (parts, anchor, zone, policy, startN) => {
          const { years, months, weeks, days, hours, minutes } = parts
          const text = `P${years}Y${months}M${weeks}W${days}DT${hours}H${minutes}M`
          const schedule = interval(text, Temporal.Instant.fromEpochMilliseconds(anchor).toString(), zone, policy)
          const wall = Temporal.Instant.fromEpochMilliseconds(anchor).toZonedDateTimeISO(zone).toPlainDateTime()
          const occurrences = new Set<number>()
          for (let n = startN; n < startN + 8; n++) {
            const moved = wall.add({ months: n * (years * 12 + months) }).add({ days: n * (weeks * 7 + days) })
            const elapsedMs = n * (hours * 3_600_000 + minutes * 60_000)
            const instants = n === 0 ? [anchor] : modelInstants(moved, zone, policy)
            for (const at of instants) occurrences.add(at + elapsedMs)
          }
          const expected = [...occurrences].sort((a, b) => a - b)
          if (expected.length < 3) return
          expect(upcoming(schedule, unbounded, expected[0]! - 1, expected.length - 1)).toEqual(expected.slice(0, -1))
          for (let i = 1; i < expected.length - 1; i++) {
            expect(schedule.next(Math.floor((expected[i - 1]! + expected[i]!) / 2))).toBe(expected[i])
            expect(schedule.next(expected[i]! - 1)).toBe(expected[i])
          }
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it('is as fast a million occurrences after the anchor', () => {
    const schedule = interval('P1D', '1970-01-01T00:00Z', 'Europe/Berlin')
    expect(schedule.next(instant('9990-06-01T12:00Z'))).toBe(instant('9990-06-01T23:00Z'))
  })
})

describe('errors', () => {
  it.each([
    ['-P1D', 'is negative', 'without a sign'],
    ['P-1D', 'is negative', 'without a sign'],
    ['PT0S', 'shorter than a second', 'PT1S'],
    ['P0D', 'shorter than a second', 'PT1S'],
    ['PT0.5S', 'shorter than a second', 'PT1S'],
    ['PT1.0001S', 'finer than a millisecond', 'three digits'],
    ['P0.5Y', 'fraction', 'smaller parts'],
    ['PT1.5H', 'fraction', 'PT90M'],
    ['90s', 'not an ISO 8601 duration', 'PT90S'],
    ['P', 'not an ISO 8601 duration', 'PT90S'],
    ['P1DT', 'not an ISO 8601 duration', 'PT90S'],
    ['', 'not an ISO 8601 duration', 'PT90S'],
    ['P1H', 'not an ISO 8601 duration', 'PT90S'],
    ['P99999Y', 'longer than a thousand years', 'shorter'],
    [`P${'9'.repeat(90)}D`, 'longer than a thousand years', 'shorter'],
  ])('%s', (text, message, hint) => {
    expect(compiling({ type: 'INTERVAL', interval: text, anchor: 0, timezone: 'UTC', dst: shiftFirst })).toThrowError(
      expect.objectContaining({
        code: 'SCHEDULE_INVALID',
        errors: [
          { pointer: '/interval', message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
        ],
      }),
    )
  })
})
