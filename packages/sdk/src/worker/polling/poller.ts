/**
 * Leases for one pool, one request at a time. It never asks for more than fits: unfinished executions stay within slots
 * and prefetch. It does not ask while reports fail, since what it would get could not be reported either.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Backoff, type Clock, type Logger } from '@carillon/contract/process'
import type { ServerClock } from '../../clock.ts'
import { pause } from '../../pause.ts'
import type { PoolSlots } from '../running/handler-slots.ts'
import type { LeaseAnswer, LeasedExecution, Transport } from '../transport.ts'
import type { Prefetch } from './prefetch.ts'

/** An empty answer that comes at once although a wait was asked for must not become a busy loop. */
const emptyPauseMs = 20

export interface PollerOptions {
  transport: Transport
  workerId: string
  pool: PoolSlots
  prefetch: Prefetch
  waitMs: number
  clock: Clock
  serverClock: ServerClock
  logger: Logger
  roundTripMs(): number
  /** False while the worker should not take more. `wake` is called when that changes. */
  mayLease(): boolean
  /** The first `slots` were taken for free slots, the others beyond them. */
  onLeased(executions: LeasedExecution[], slots: number): void
  /** Registers the worker again: the node may not know it any more. */
  register(): Promise<void>
}

export class Poller {
  readonly #options: PollerOptions
  readonly #backoff = new Backoff()
  readonly #stopping = new AbortController()
  #wake: (() => void) | null = null
  #failing = false
  #answeredAt: number | null = null
  #waitingSince: number | null = null
  #ended: Promise<void> = Promise.resolve()

  constructor(options: PollerOptions) {
    this.#options = options
  }

  /** When a lease was answered last, on the local clock. */
  get answeredAt(): number | null {
    return this.#answeredAt
  }

  /** Since when it has been asking without an answer; null while it does not ask. */
  get waitingSince(): number | null {
    return this.#stopping.signal.aborted ? null : this.#waitingSince
  }

  start(): void {
    this.#ended = this.#loop()
  }

  /** There may be room again. */
  wake(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }

  /** Stops asking at once; resolves when the request under way has ended too. */
  stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    return this.#ended
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // What ends in this turn of the event loop frees its slots first, so that one request asks for all of them.
      await nextTurn()
      const room = this.#room()
      if (room === null) {
        this.#waitingSince = null
        await this.#woken()
      } else if (!(await this.#lease(room))) await pause(this.#backoff.nextMs(), signal)
    }
  }

  /** What to ask for, or null if nothing is worth a request now. */
  #room(): { slots: number; prefetch: number } | null {
    const { pool, prefetch, mayLease, roundTripMs } = this.#options
    if (!mayLease()) return null
    const wanted = prefetch.current(roundTripMs())
    const room = pool.room(wanted)
    // With all slots busy, prefetch is refilled when half of it is used.
    return room.slots > 0 || (room.prefetch > 0 && room.prefetch * 2 >= wanted) ? room : null
  }

  #woken(): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** One request; false if it failed. */
  async #lease(room: { slots: number; prefetch: number }): Promise<boolean> {
    const { transport, workerId, pool, waitMs, clock, serverClock, onLeased } = this.#options
    const { signal } = this.#stopping
    const askedAt = clock.now()
    this.#waitingSince ??= askedAt
    let answer: LeaseAnswer
    try {
      if (this.#failing) await this.#options.register()
      answer = await transport.lease({ workerId, pool: pool.pool, ...room, waitMs }, signal)
    } catch (error) {
      if (signal.aborted) return true
      if (!this.#failing) this.#options.logger.warn({ error, pool: pool.pool }, 'leasing failed; trying again')
      this.#failing = true
      return false
    }
    this.#failing = false
    this.#waitingSince = null
    this.#answeredAt = clock.now()
    this.#backoff.reset()
    serverClock.observe(answer.serverTime)
    if (answer.executions.length > 0) onLeased(answer.executions, room.slots)
    else if (this.#answeredAt - askedAt < emptyPauseMs) await pause(emptyPauseMs, signal)
    return true
  }
}
