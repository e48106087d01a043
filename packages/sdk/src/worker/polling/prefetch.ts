import type { Clock } from '@carillon/contract/process'
import type { PoolSlots } from '../running/handler-slots.ts'

const most = 1_000
const sampleMs = 5
const memoryMs = 100
const horizonMs = 20

/**
 * How many executions beyond the free slots are worth holding: what the pool finishes while the next lease is on its
 * way. Handlers of milliseconds get hundreds, handlers of seconds none, so that nothing waits here which another worker
 * could start.
 */
export class Prefetch {
  readonly #clock: Clock
  readonly #pool: PoolSlots
  readonly #fixed: number | undefined
  #perMs = 0
  #sampledAt: number
  #finished = 0

  constructor(clock: Clock, pool: PoolSlots, fixed: number | undefined) {
    this.#clock = clock
    this.#pool = pool
    this.#fixed = fixed
    this.#sampledAt = clock.now()
  }

  /** `roundTripMs` is what an answer of the installation takes at present. */
  current(roundTripMs: number): number {
    if (this.#fixed !== undefined) return this.#fixed
    const now = this.#clock.now()
    const elapsedMs = now - this.#sampledAt
    if (elapsedMs >= sampleMs) {
      const perMs = (this.#pool.finished - this.#finished) / elapsedMs
      this.#perMs += (perMs - this.#perMs) * Math.min(1, elapsedMs / memoryMs)
      this.#sampledAt = now
      this.#finished = this.#pool.finished
    }
    return Math.min(most, Math.floor(this.#perMs * (horizonMs + 2 * roundTripMs)))
  }
}
