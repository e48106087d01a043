import type { Clock } from '@carillon/contract/process'
import type { Held } from '../held.ts'

const tickMs = 20

/**
 * One interval for every running execution instead of a timer each: a timer per execution costs more than a no-op
 * handler does. It runs only while something is watched.
 */
export class Ticker {
  readonly #clock: Clock
  readonly #due: (held: Held, now: number) => void
  readonly #watched = new Set<Held>()
  #timer: NodeJS.Timeout | null = null
  #emptyWaiters: (() => void)[] = []

  constructor(clock: Clock, due: (held: Held, now: number) => void) {
    this.#clock = clock
    this.#due = due
  }

  get size(): number {
    return this.#watched.size
  }

  watched(): Held[] {
    return [...this.#watched]
  }

  watch(held: Held): void {
    this.#watched.add(held)
    this.#timer ??= setInterval(() => this.tick(), tickMs)
  }

  unwatch(held: Held): void {
    this.#watched.delete(held)
    if (this.#watched.size > 0 || this.#emptyWaiters.length === 0) return
    const waiters = this.#emptyWaiters
    this.#emptyWaiters = []
    for (const resolve of waiters) resolve()
  }

  /** Does what is due by now. */
  tick(): void {
    if (this.#watched.size === 0) this.close()
    const now = this.#clock.now()
    for (const held of this.#watched) if (now >= held.wakeAt) this.#due(held, now)
  }

  /** When something is due next, on the local clock. */
  nextDue(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { wakeAt } of this.#watched) next = Math.min(next, wakeAt)
    return next
  }

  /** Resolves when nothing is watched. */
  empty(): Promise<void> {
    if (this.#watched.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#emptyWaiters.push(resolve))
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }
}
