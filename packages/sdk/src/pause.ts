import { setTimeout as delay } from 'node:timers/promises'

/** A longer timer fires at once. */
const longestTimerMs = 2 ** 31 - 1

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
