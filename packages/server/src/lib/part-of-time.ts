import { monotonicMs } from './clock.ts'

/** For work that may take a part of the time and no more: after each piece it pauses in proportion to what that took. */
export class PartOfTime {
  readonly #part: number
  readonly #now: () => number
  #pausedUntil = Number.NEGATIVE_INFINITY

  /** `part`: of one. `monotonic`: milliseconds. */
  constructor(part: number, monotonic: () => number = monotonicMs) {
    this.#part = part
    this.#now = monotonic
  }

  async spend<T>(work: () => Promise<T>): Promise<T> {
    const began = this.#now()
    try {
      return await work()
    } finally {
      const ended = this.#now()
      this.#pausedUntil = ended + (ended - began) * (1 / this.#part - 1)
    }
  }

  /** How long the pause still is; 0: work may go on. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#now())
  }
}
