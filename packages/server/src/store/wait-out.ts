/** Waits out transient trouble while a node starts: the database may be restarting, or connections may be ended by an operator. */
import { Backoff } from '@carillon/contract/process'
import { monotonicMs } from '../lib/clock.ts'
import { isTransient } from './trouble.ts'

export interface WaitOutOptions {
  /** Give up this long after the first failure. */
  forMs: number
  onTrouble: (error: unknown, retryInMs: number) => void
}

/** Runs `work` until it succeeds; `work` must be repeatable. Throws errors that are not transient, and the last failure. */
export async function waitOut<T>(work: () => Promise<T>, { forMs, onTrouble }: WaitOutOptions): Promise<T> {
  const backoff = new Backoff({ initialMs: 50, maxMs: 1_000 })
  let giveUpAt: number | null = null
  for (;;) {
    try {
      return await work()
    } catch (error) {
      giveUpAt ??= monotonicMs() + forMs
      if (!isTransient(error) || monotonicMs() >= giveUpAt) throw error
      const delayMs = backoff.nextMs()
      onTrouble(error, delayMs)
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}
