import { monotonicMs } from './clock.ts'

export interface TimeBudgetOptions {
  /** Between 0 and 1. */
  share: number
  /**
   * The pause is never longer than this, whatever the last piece took. A duty that promises to notice something in time
   * needs it: one look at a database that was slow for a moment would otherwise cost the next minutes.
   */
  longestPauseMs: number
  /** Milliseconds; for tests. */
  monotonic?: () => number
}

/** Limits periodic work to a share of wall time: after each piece it pauses in proportion to what that took, up to a bound. */
export class TimeBudget {
  readonly #options: TimeBudgetOptions
  readonly #now: () => number
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor(options: TimeBudgetOptions) {
    this.#options = options
    this.#now = options.monotonic ?? monotonicMs
  }

  async spend<T>(work: () => Promise<T>): Promise<T> {
    const { share, longestPauseMs } = this.#options
    const began = this.#now()
    try {
      return await work()
    } finally {
      const ended = this.#now()
      this.#pausedUntil = ended + Math.min(longestPauseMs, (ended - began) * (1 / share - 1))
    }
  }

  /** How long the pause still is; 0: work may go on. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#now())
  }
}
