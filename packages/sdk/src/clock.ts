/**
 * Time in a worker. Intervals are measured on a clock that never steps; the installation's time is estimated from the
 * `serverTime` of its answers. An answer reaches us after it was stamped, so every sample is at or behind the truth:
 * the largest one of the last seconds is the best, and the estimate never runs ahead of the server. That is what keeps
 * a handler from starting before its `scheduledFor`.
 */
import type { Clock } from '@carillon/contract/process'

/** The time of day, corrections and all: to compare with what another machine wrote down. */
export const wallClock: Clock = { now: () => Date.now() }

const windowMs = 10_000

export class ServerClock {
  readonly #clock: Clock
  #offsetMs = 0
  #windowStart = Number.NEGATIVE_INFINITY
  #best = Number.NEGATIVE_INFINITY
  #previousBest = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the `serverTime` of an answer that has just arrived. */
  observe(serverTime: number): void {
    const now = this.#clock.now()
    if (now - this.#windowStart >= windowMs) {
      this.#previousBest = this.#best
      this.#best = Number.NEGATIVE_INFINITY
      this.#windowStart = now
    }
    this.#best = Math.max(this.#best, serverTime - now)
    this.#offsetMs = Math.max(this.#best, this.#previousBest)
  }

  /** The installation's time in whole milliseconds since 1970. */
  now(): number {
    return this.at(this.#clock.now())
  }

  /** The installation's time at a moment of the local clock. */
  at(localMs: number): number {
    return Math.floor(localMs + this.#offsetMs)
  }

  /** The moment of the local clock at which the installation's time is `serverMs`. */
  toLocal(serverMs: number): number {
    return serverMs - this.#offsetMs
  }
}
