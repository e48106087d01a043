import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkJitter, clampedJitter, jitterOffsetMs } from './jitter.ts'
import { cron, everyPolicy, instant, interval } from './schedule.test-support.ts'
import { compileSchedule, type Schedule } from './schedule.ts'

describe('the offset', () => {
  it('is stable: these values are what running installations rely on', () => {
    expect(['job-1', 'job-2', 'job-3'].map((id) => jitterOffsetMs(id, 60))).toEqual([566, 3_388, 8_703])
  })

  it('is 0 without jitter', () => {
    expect(jitterOffsetMs('job-1', 0)).toBe(0)
  })

  it('is spread evenly over [0, jitterSec)', () => {
    const buckets = new Array(60).fill(0)
    for (let i = 0; i < 60_000; i++) buckets[Math.floor(jitterOffsetMs(`job-${i}`, 60) / 1_000)]++
    expect(buckets.length).toBe(60)
    expect(Math.min(...buckets)).toBeGreaterThan(850)
    expect(Math.max(...buckets)).toBeLessThan(1_150)
  })
})

describe('a default that is too long', () => {
  const now = instant('2025-01-01T00:00Z')
  const anchor = '2024-01-01T00:00Z'

  it('is cut to what the check allows', () => {
    expect([59, 60, 3_600].map((sec) => clampedJitter(cron('* * * * *'), sec, now))).toEqual([59, 59, 59])
    expect(['PT1S', 'PT1.5S', 'PT10S'].map((each) => clampedJitter(interval(each, anchor), 600, now))).toEqual([
      0, 1, 9,
    ])
    for (const schedule of [cron('0,5 * * * *'), cron('30 2 * * *'), interval('PT90S', anchor)]) {
      expect(() => checkJitter(schedule, clampedJitter(schedule, 86_400 * 40, now), now)).not.toThrow()
    }
  })
})

describe('the check', () => {
  const now = instant('2025-01-01T00:00Z')

  it('wants less than the period', () => {
    expect(() => checkJitter(cron('* * * * *'), 59, now)).not.toThrow()
    expect(() => checkJitter(cron('* * * * *'), 60, now)).toThrowError(
      expect.objectContaining({ code: 'VALIDATION', errors: [expect.objectContaining({ pointer: '/jitterSec' })] }),
    )
    expect(() => checkJitter(interval('PT10S', '2024-01-01T00:00Z'), 10)).toThrow()
    expect(() => checkJitter(interval('PT10S', '2024-01-01T00:00Z'), 9.9)).not.toThrow()
  })

  it('takes the shortest distance, not the first', () => {
    expect(() => checkJitter(cron('0,5 9 * * *'), 300, now)).toThrow()
    expect(() => checkJitter(cron('0,5 9 * * *'), 299, now)).not.toThrow()
  })

  it('knows the day of 23 hours, however far away it is', () => {
    const justAfter = instant('2026-03-09T00:00Z')
    const daily = cron('0 12 * * *', 'America/New_York')
    expect(() => checkJitter(daily, 23 * 3_600 - 1, justAfter)).not.toThrow()
    expect(() => checkJitter(daily, 23 * 3_600, justAfter)).toThrow('82800 s')
    expect(() => checkJitter(interval('P1D', '2026-04-01T12:00Z', 'America/New_York'), 23 * 3_600, justAfter)).toThrow()
  })

  it('knows a time that is moved close to another one', () => {
    // 02:00, which does not exist on one day a year, runs at 03:00.
    const pair = cron('0 2,4 * * *', 'Europe/Berlin')
    expect(() => checkJitter(pair, 3_599, now)).not.toThrow()
    expect(() => checkJitter(pair, 3_600, now)).toThrow()
  })

  it('looks at the days only as far as it must: the 31st and the 1st are neighbours', () => {
    expect(() => checkJitter(cron('0 0 1,31 * *'), 86_399, now)).not.toThrow()
    expect(() => checkJitter(cron('0 0 1,31 * *'), 86_400, now)).toThrow()
    expect(() => checkJitter(cron('0 0 * * 1,4'), 3 * 86_400 - 1, now)).not.toThrow()
    expect(() => checkJitter(cron('0 0 * * 1,4'), 3 * 86_400, now)).toThrow()
    expect(() => checkJitter(cron('0 0 29 2 *'), 365 * 86_400, now)).not.toThrow()
    expect(() => checkJitter(interval('P1M', '2025-01-31T00:00Z'), 28 * 86_400 - 1, now)).not.toThrow()
    expect(() => checkJitter(interval('P1M', '2025-01-31T00:00Z'), 28 * 86_400, now)).toThrow()
  })

  it('finds what going through three years finds', () => {
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 4 })
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 })
    const zones = fc.constantFrom('UTC', 'America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Havana')
    fc.assert(
      fc.property(minutes, times, zones, fc.constantFrom(...everyPolicy), (minute, hour, zone, policy) => {
        const schedule = cron(`${minute} ${hour} * * *`, zone, policy)
        const shortest = shortestOf(schedule, now, now + 3 * 366 * 86_400_000)
        expect(schedule.shortestDistance(now, shortest)).toBe(shortest)
        expect(schedule.shortestDistance(now, shortest - 1)).toBeGreaterThanOrEqual(shortest)
      }),
      { numRuns: 60 },
    )
  })

  it('lets a one-shot have any', () => {
    expect(() => checkJitter(compileSchedule({ type: 'ONE_SHOT', runAt: now }), 86_400)).not.toThrow()
  })

  it.each([-1, Number.NaN, Infinity])('refuses %s', (jitterSec) => {
    expect(() => checkJitter(cron('* * * * *'), jitterSec)).toThrow()
  })
})

function shortestOf(schedule: Schedule, after: number, until: number): number {
  let shortest = Infinity
  let previous = schedule.next(after)!
  for (let next = schedule.next(previous)!; next <= until; next = schedule.next(next)!) {
    shortest = Math.min(shortest, next - previous)
    previous = next
  }
  return shortest
}
