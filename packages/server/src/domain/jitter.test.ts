import { describe, expect, it } from 'vitest'
import { checkJitter, jitterOffsetMs } from './jitter.ts'
import { cron, instant, interval } from './schedule.test-support.ts'
import { compileSchedule } from './schedule.ts'

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

  it('lets a one-shot have any', () => {
    expect(() => checkJitter(compileSchedule({ type: 'ONE_SHOT', runAt: now }), 86_400)).not.toThrow()
  })

  it.each([-1, Number.NaN, Infinity])('refuses %s', (jitterSec) => {
    expect(() => checkJitter(cron('* * * * *'), jitterSec)).toThrow()
  })
})
