import { Backoff } from '@carillon/contract/process'
import { pause } from '../../pause.ts'

/**
 * Cancellations come with the answers to leases. While no lease is open, because every slot is taken, a request that
 * asks for no executions is kept open in its place; so a cancellation reaches a full worker as fast as one with room.
 */

/** A busy worker is between two leases for a moment; that is no time without one. */
const patienceMs = 100

export class CancellationWatch {
  readonly #poll: (signal: AbortSignal) => Promise<void>
  readonly #ending = new AbortController()
  #leases = 0
  #timer: NodeJS.Timeout | null = null
  #polling = false

  /** `poll` waits for cancellations once. */
  constructor(poll: (signal: AbortSignal) => Promise<void>) {
    this.#poll = poll
    this.#soon()
  }

  leaseOpened(): void {
    this.#leases++
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  leaseClosed(): void {
    this.#leases--
    this.#soon()
  }

  stop(): void {
    this.#ending.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #soon(): void {
    if (this.#leases > 0 || this.#polling || this.#timer !== null || this.#ending.signal.aborted) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#watch()
    }, patienceMs)
  }

  async #watch(): Promise<void> {
    const { signal } = this.#ending
    const backoff = new Backoff()
    this.#polling = true
    while (this.#leases === 0 && !signal.aborted) {
      try {
        await this.#poll(signal)
        backoff.reset()
      } catch {
        // Whether the installation answers is seen by the reports.
        await pause(backoff.nextMs(), signal)
      }
    }
    this.#polling = false
  }
}
