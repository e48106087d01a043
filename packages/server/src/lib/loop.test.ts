import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Again, Loop } from './loop.ts'

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }

beforeEach(() => {
  vi.useFakeTimers()
  logger.warn.mockClear()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A duty whose runs end when the test says so. */
class Duty {
  runs = 0
  atOnce = 0
  mostAtOnce = 0
  #finish: (() => void)[] = []

  readonly runOnce = async () => {
    this.runs++
    this.atOnce++
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce)
    await new Promise<void>((resolve) => this.#finish.push(resolve))
    this.atOnce--
  }

  /** Ends the run under way and lets everything that follows from it happen. */
  async finish(): Promise<void> {
    this.#finish.shift()?.()
    await vi.advanceTimersByTimeAsync(0)
  }
}

function loopOf(runOnce: () => Promise<Again | undefined> | Promise<void>, everyMs = 1_000): Loop {
  return new Loop({ name: 'duty', everyMs, logger, runOnce })
}

describe('a loop', () => {
  it('runs at the start and then after each pause, counted from the end of a run', async () => {
    const duty = new Duty()
    const loop = loopOf(duty.runOnce)
    await loop.start()
    expect(duty.runs).toBe(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(duty.runs).toBe(1)
    await duty.finish()
    await vi.advanceTimersByTimeAsync(999)
    expect(duty.runs).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(duty.runs).toBe(2)
  })

  it('runs at once when woken, and the pause begins anew', async () => {
    const runOnce = vi.fn(async () => {})
    const loop = loopOf(runOnce)
    await loop.start()
    await vi.advanceTimersByTimeAsync(900)
    loop.wake()
    expect(runOnce).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(999)
    expect(runOnce).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(runOnce).toHaveBeenCalledTimes(3)
  })

  it('makes of any number of wake-ups during a run one more run', async () => {
    const duty = new Duty()
    const loop = loopOf(duty.runOnce)
    await loop.start()
    for (let i = 0; i < 10; i++) loop.wake()
    await duty.finish()
    expect(duty.runs).toBe(2)
    await duty.finish()
    expect(duty.runs).toBe(2)
    expect(duty.mostAtOnce).toBe(1)
  })

  it('never runs twice at once, not even when a run wakes its own loop before it first waits', async () => {
    let atOnce = 0
    let mostAtOnce = 0
    let runs = 0
    const loop = loopOf(async () => {
      mostAtOnce = Math.max(mostAtOnce, ++atOnce)
      if (++runs < 3) loop.wake()
      await null
      atOnce--
    })
    await loop.start()
    await vi.advanceTimersByTimeAsync(0)
    expect({ runs, mostAtOnce }).toEqual({ runs: 3, mostAtOnce: 1 })
  })

  it('waits as long as a run asked for, if that is shorter', async () => {
    const answers = [{ againInMs: 10 }, { againInMs: 5_000 }, undefined]
    const runOnce = vi.fn(async () => answers.shift())
    await loopOf(runOnce).start()
    await vi.advanceTimersByTimeAsync(10)
    expect(runOnce).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(runOnce).toHaveBeenCalledTimes(3)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(runOnce).toHaveBeenCalledTimes(4)
  })

  it('logs an error, tries again with growing delays up to two seconds, and starts over after a success', async () => {
    const pauses: number[] = []
    let fails = 12
    let last = performance.now()
    const loop = loopOf(async () => {
      pauses.push(performance.now() - last)
      last = performance.now()
      if (fails-- > 0) throw new Error('trouble')
    })
    await loop.start()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(logger.warn).toHaveBeenCalledTimes(12)
    pauses.slice(1, 13).forEach((pause, i) => {
      const full = Math.min(2_000, 50 * 2 ** i)
      expect(pause).toBeGreaterThanOrEqual(Math.floor(full / 2))
      expect(pause).toBeLessThanOrEqual(full + 1)
    })
    expect(pauses.at(-1)).toBe(1_000)
    fails = 1
    // The run that fails, and the one after it: where between two runs we stand is chance.
    const failing = pauses.length
    await vi.advanceTimersByTimeAsync(1_051)
    expect(pauses[failing + 1]).toBeLessThanOrEqual(51)
  })
})

describe('stop', () => {
  it('waits for the run under way and lets no other begin', async () => {
    const duty = new Duty()
    const loop = loopOf(duty.runOnce)
    await loop.start()
    loop.wake()
    let stopped = false
    const stop = loop.stop().then(() => {
      stopped = true
    })
    await vi.advanceTimersByTimeAsync(100)
    expect(stopped).toBe(false)
    await duty.finish()
    await stop
    loop.wake()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(duty.runs).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('may be called twice, before the start, and is not the end', async () => {
    const runOnce = vi.fn(async () => {})
    const loop = loopOf(runOnce)
    await loop.stop()
    await loop.start()
    await loop.stop()
    await loop.stop()
    expect(runOnce).toHaveBeenCalledTimes(1)
    await loop.start()
    expect(runOnce).toHaveBeenCalledTimes(2)
    await loop.stop()
  })
})
