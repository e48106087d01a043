import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cronModels } from './cron-model.test-support.ts'
import { compiling, cron, everyPolicy, instant, interval, shiftFirst } from './schedule.test-support.ts'
import {
  compileSchedule,
  countWithin,
  nextWithin,
  previousWithin,
  type Schedule,
  unbounded,
  upcoming,
} from './schedule.ts'
import { compileScheduleCached } from './schedule-cache.ts'

describe('one shot', () => {
  it('occurs once', () => {
    const schedule = compileSchedule({ type: 'ONE_SHOT', runAt: 5_000 })
    expect(schedule.next(4_999)).toBe(5_000)
    expect(schedule.next(5_000)).toBeNull()
    expect(schedule.count(0, 5_000)).toBe(1)
    expect(schedule.count(5_000, 9_000)).toBe(0)
  })

  it.each([-1, 0.5, Number.NaN, Infinity, 253_402_300_800_000])('%s is out of range', (runAt) => {
    expect(compiling({ type: 'ONE_SHOT', runAt })).toThrowError(
      expect.objectContaining({ code: 'TIME_OUT_OF_RANGE', errors: [expect.objectContaining({ pointer: '/runAt' })] }),
    )
  })

  it('the anchor of an interval has the same range', () => {
    expect(compiling({ type: 'INTERVAL', interval: 'P1D', anchor: -1, timezone: 'UTC', dst: shiftFirst })).toThrowError(
      expect.objectContaining({ code: 'TIME_OUT_OF_RANGE', errors: [expect.objectContaining({ pointer: '/anchor' })] }),
    )
  })
})

describe('bounds', () => {
  const daily = cron('0 0 * * *')
  const bounds = { startAt: instant('2025-01-03T00:00Z'), endAt: instant('2025-01-05T00:00Z') }

  it('are inclusive on both sides', () => {
    expect(upcoming(daily, bounds, 0, 10)).toEqual([
      instant('2025-01-03T00:00Z'),
      instant('2025-01-04T00:00Z'),
      instant('2025-01-05T00:00Z'),
    ])
    expect(nextWithin(daily, bounds, instant('2025-01-05T00:00Z'))).toBeNull()
    expect(countWithin(daily, bounds, 0, instant('2030-01-01T00:00Z'))).toBe(3)
  })

  it('previousWithin finds the last one before', () => {
    const before = instant('2030-01-01T00:00Z')
    expect(previousWithin(daily, bounds, 0, before)).toBe(instant('2025-01-05T00:00Z'))
    expect(previousWithin(daily, bounds, 0, instant('2025-01-05T00:00Z'))).toBe(instant('2025-01-04T00:00Z'))
    expect(previousWithin(daily, bounds, instant('2025-01-04T00:00Z'), instant('2025-01-05T00:00Z'))).toBeNull()
    expect(previousWithin(cron('* * * * * *'), unbounded, 0, before)).toBe(before - 1_000)
  })
})

describe('count and previous agree with stepping', () => {
  const schedules: fc.Arbitrary<Schedule> = fc.oneof(
    fc
      .tuple(
        cronModels,
        fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe'),
        fc.constantFrom(...everyPolicy),
      )
      .map(([model, zone, policy]) => cron(model.text, zone, policy)),
    fc
      .tuple(fc.constantFrom('PT37M', 'P1D', 'P1M', 'P3DT7H'), fc.constantFrom(...everyPolicy))
      .map(([text, policy]) => interval(text, '2024-12-31T01:30Z', 'Europe/Berlin', policy)),
    fc.constantFrom(cron('*/7 10-20 3 * * *', 'America/New_York'), cron('*/2 */5 * * * *')),
    fc.constant(interval('PT1.5S', '2025-01-01T00:00Z')),
  )

  it('over windows that hold changes of the clock', () => {
    fc.assert(
      fc.property(
        schedules,
        fc.integer({ min: instant('2025-01-01T00:00Z'), max: instant('2025-12-01T00:00Z') }),
        fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 40 * 86_400_000 })),
        (schedule, after, lengthMs) => {
          const until = after + lengthMs
          const all = upcoming(schedule, { startAt: null, endAt: until }, after, Infinity)
          expect(schedule.count(after, until)).toBe(all.length)
          expect(previousWithin(schedule, unbounded, after, until + 1)).toBe(all.at(-1) ?? null)
          const middle = all[Math.floor(all.length / 2)]
          if (middle !== undefined) {
            expect(schedule.count(after, middle) + schedule.count(middle, until)).toBe(all.length)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('a year of seconds', () => {
    const from = instant('2025-01-01T00:00Z')
    const to = instant('2026-01-01T00:00Z')
    expect(cron('* * * * * *', 'America/New_York').count(from, to)).toBe(365 * 86_400)
    expect(cron('* * 0-22,23 * * *', 'America/New_York').count(from, to)).toBe(365 * 86_400)
    expect(cron('* * 1,2 * * *', 'America/New_York', { gap: 'SKIP', overlap: 'BOTH' }).count(from, to)).toBe(
      365 * 7_200,
    )
    expect(cron('* * 1,2 * * *', 'America/New_York', { gap: 'SKIP', overlap: 'FIRST' }).count(from, to)).toBe(
      365 * 7_200 - 3_600,
    )
    expect(interval('PT1S', '2020-01-01T00:00Z').count(from, to)).toBe(365 * 86_400)
  })
})

describe('the cache', () => {
  const spec = {
    type: 'CRON',
    expression: '0 3 * * *',
    timezone: 'America/Los_Angeles',
    dst: shiftFirst,
    dayFields: 'EITHER',
  } as const

  it('gives one schedule to all jobs with the same definition, another to another policy', () => {
    expect(compileScheduleCached({ ...spec })).toBe(compileScheduleCached({ ...spec }))
    expect(compileScheduleCached({ ...spec, dst: { gap: 'SKIP', overlap: 'FIRST' } })).not.toBe(
      compileScheduleCached(spec),
    )
    expect(compileScheduleCached({ ...spec, dayFields: 'BOTH' })).not.toBe(compileScheduleCached(spec))
  })

  it('answers as the schedule itself, also after it has forgotten', () => {
    const cached = compileScheduleCached(spec)
    const plain = compileSchedule(spec)
    for (let round = 0; round < 2; round++) {
      for (let day = 0; day < 400; day++) {
        const at = instant('2025-01-01T00:00Z') + day * 86_400_000
        expect(cached.next(at)).toBe(plain.next(at))
      }
    }
    expect(cached.count(0, instant('2025-01-01T00:00Z'))).toBe(plain.count(0, instant('2025-01-01T00:00Z')))
  })

  it('keeps no errors and stays bounded', () => {
    const broken = { ...spec, expression: '99 * * * *' }
    expect(() => compileScheduleCached(broken)).toThrow()
    expect(() => compileScheduleCached(broken)).toThrow()
    const first = compileScheduleCached(spec)
    for (let anchor = 0; anchor < 5_000; anchor++) {
      compileScheduleCached({ type: 'INTERVAL', interval: 'PT5M', anchor, timezone: 'UTC', dst: shiftFirst })
    }
    expect(compileScheduleCached(spec)).not.toBe(first)
  })
})
