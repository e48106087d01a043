import { describe, expect, it } from 'vitest'
import { type DurationInput, instantAfter, instantOf, VirtualClock } from './time.ts'

const now = Date.UTC(2026, 0, 31)

describe('instants', () => {
  it.each([['2026-01-31T00:00:00Z'], ['2026-01-31T01:00:00+01:00[Europe/Berlin]'], [new Date(now)], [now]])(
    '%s is one',
    (value) => {
      expect(instantOf(value, '/now')).toBe(now)
    },
  )

  it.each([
    ['2026-01-31', 'VALIDATION'],
    ['2026-01-31T00:00:00', 'VALIDATION'],
    ['yesterday', 'VALIDATION'],
    ['', 'VALIDATION'],
    [Number.NaN, 'VALIDATION'],
    [0.5, 'VALIDATION'],
    [new Date('nonsense'), 'VALIDATION'],
    [undefined as never, 'VALIDATION'],
    [0, 'TIME_OUT_OF_RANGE'],
    [Date.UTC(4_800, 0, 1), 'TIME_OUT_OF_RANGE'],
  ])('%s is refused', (value, code) => {
    expect(() => instantOf(value, '/now')).toThrow(expect.objectContaining({ code }))
  })
})

describe('durations', () => {
  it.each<[DurationInput, string]>([
    ['PT6H', '2026-01-31T06:00:00.000Z'],
    ['P1M', '2026-02-28T00:00:00.000Z'],
    [{ days: 1, hours: 1 }, '2026-02-01T01:00:00.000Z'],
    [1, '2026-01-31T00:00:00.001Z'],
    [0, '2026-01-31T00:00:00.000Z'],
  ])('%j', (duration, expected) => {
    expect(new Date(instantAfter(now, duration)).toISOString()).toBe(expected)
  })

  it.each<[unknown, string]>([
    [-1, 'backwards'],
    ['-PT1H', 'backwards'],
    [{ hours: -1 }, 'backwards'],
    [0.5, 'not a duration'],
    [Number.POSITIVE_INFINITY, 'not a duration'],
    ['6 hours', 'not a duration'],
    [{}, 'not a duration'],
    [{ hour: 1 }, 'not a duration'],
    [null, 'not a duration'],
    [undefined, 'not a duration'],
  ])('%j is refused', (duration, words) => {
    expect(() => instantAfter(now, duration as DurationInput)).toThrow(words)
  })

  it('ends where time does', () => {
    expect(() => instantAfter(now, 'P9000Y')).toThrow(expect.objectContaining({ code: 'TIME_OUT_OF_RANGE' }))
  })
})

it('the clock stands where it was set, whatever the database says', () => {
  const clock = new VirtualClock(now)
  clock.measured()
  expect(clock.now()).toBe(now)
  clock.set(now + 5)
  expect([clock.now(), clock.offsetMs, clock.aheadMs]).toEqual([now + 5, 0, 0])
})
