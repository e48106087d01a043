import { setTimeout as delay } from 'node:timers/promises'

const firstMs = 100
const lastMs = 5_000
/** A longer timer fires at once. */
const longestTimerMs = 2 ** 31 - 1

/** Growing, jittered pauses between tries of something that fails: 100 ms to 5 s. */
export class Backoff {
  #failures = 0

  reset(): void {
    this.#failures = 0
  }

  /** Waits before the next try; returns early when `signal` aborts. */
  wait(signal: AbortSignal): Promise<void> {
    const ceilingMs = Math.min(lastMs, firstMs * 2 ** this.#failures)
    this.#failures = Math.min(this.#failures + 1, 10)
    return pause(ceilingMs * (0.5 + Math.random() / 2), signal)
  }
}

/** Waits `ms`, or until `signal` aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal })
  } catch {
    // Aborted: the caller looks at its signal.
  }
}

/** Waits for `promise`, but not longer than `ms`. Its rejection is passed on unless it comes later than that. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, longestTimerMs))
  })
  try {
    await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
