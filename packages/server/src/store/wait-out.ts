/** Waits out transient trouble: the database may be restarting, or connections may be ended by an operator. */
import { setTimeout as pause } from 'node:timers/promises'
import { Backoff } from '@carillon/contract/process'
import { monotonicMs } from '../lib/clock.ts'
import { isTransient } from './trouble.ts'

export interface WaitOutOptions {
  /** Give up this long after the first failure. */
  forMs: number
  onTrouble?: (error: unknown, retryInMs: number) => void
  signal?: AbortSignal
}

/** Runs `work` until it succeeds; `work` must be repeatable. Throws errors that are not transient, the last failure, and an abort. */
export async function waitOut<T>(work: () => Promise<T>, { forMs, onTrouble, signal }: WaitOutOptions): Promise<T> {
  const backoff = new Backoff({ initialMs: 50, maxMs: 1_000 })
  let giveUpAt: number | null = null
  for (;;) {
    try {
      return await work()
    } catch (error) {
      giveUpAt ??= monotonicMs() + forMs
      if (!isTransient(error) || monotonicMs() >= giveUpAt) throw error
      const delayMs = backoff.nextMs()
      onTrouble?.(error, delayMs)
      await pause(delayMs, undefined, { signal })
    }
  }
}
