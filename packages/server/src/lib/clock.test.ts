import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { monotonicMs, OffsetClock } from './clock.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the clock of the installation', () => {
  it('is the machine until something was measured', () => {
    expect(new OffsetClock().now()).toBe(monotonicMs())
  })

  it('takes the answer for the time in the middle of the question', () => {
    const clock = new OffsetClock()
    const asked = monotonicMs()
    clock.measured(5_000_000, asked, asked + 40)
    vi.advanceTimersByTime(40)
    expect(clock.now()).toBeCloseTo(5_000_020, 3)
  })

  it('is not led astray by an answer that took long: what was known holds as far as the answer allows', () => {
    const clock = new OffsetClock()
    const asked = monotonicMs()
    clock.measured(5_000_000, asked, asked)
    // Asked at once, said after 4.9 s, for want of a connection: the middle would be 2.4 s ahead.
    clock.measured(5_004_900, asked, asked + 5_000)
    expect(clock.now()).toBeCloseTo(5_000_000, 3)
    // What the answer rules out is given up: it cannot have been said before it was asked for.
    clock.measured(5_090_000, asked, asked + 5_000)
    expect(clock.now()).toBeCloseTo(5_085_000, 3)
  })

  it('is rather behind than ahead while only slow answers came', () => {
    const clock = new OffsetClock()
    const asked = monotonicMs()
    clock.measured(5_000_000, asked, asked + 3_000)
    vi.advanceTimersByTime(3_000)
    expect(clock.now()).toBeCloseTo(5_000_000, 3)
  })

  it('runs on with the monotonic clock, whatever happens to the wall clock', () => {
    const clock = new OffsetClock()
    clock.measured(5_000_000, monotonicMs(), monotonicMs())
    vi.setSystemTime(0)
    vi.advanceTimersByTime(250)
    expect(clock.now()).toBeCloseTo(5_000_250, 3)
  })

  it('follows each new measurement', () => {
    const clock = new OffsetClock()
    for (const serverTime of [1_000, 9_000]) {
      clock.measured(serverTime, monotonicMs(), monotonicMs())
      expect(clock.now()).toBeCloseTo(serverTime, 3)
    }
  })

  it('says how far the wall clock of this machine is off', () => {
    const clock = new OffsetClock()
    const wall = 1_700_000_000_000
    vi.setSystemTime(wall)
    clock.measured(wall + 120, monotonicMs(), monotonicMs())
    expect(clock.offsetMs).toBeCloseTo(120, 3)
  })
})
