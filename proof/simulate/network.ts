/**
 * The ways between the parts of the world and what may happen on them. Rates are per message while there is trouble; none
 * while there is not.
 */
import type { Owner } from './owner.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export interface Rates {
  /** Statements: refused before they ran, or their answer lost after the commit. */
  failBefore: number
  failAfter: number
  slowStatement: number
  heldCommit: number
  /** Messages of workers and clients to nodes. */
  lostRequest: number
  lostAnswer: number
  lateMessage: number
  repeatedMessage: number
  /** Signals between nodes. */
  lostHint: number
  lateHint: number
  doubledHint: number
  /** A leader is stopped, and replaced, just before its FIRE or ADVANCE arrives. */
  leaderLost: number
}

export const calm: Rates = {
  ...{ failBefore: 0, failAfter: 0, slowStatement: 0, heldCommit: 0, lostRequest: 0, lostAnswer: 0, lateMessage: 0 },
  ...{ repeatedMessage: 0, lostHint: 0, lateHint: 0, doubledHint: 0, leaderLost: 0 },
}

/** Counts what went wrong, and remembers the last of it. */
export class FaultLog {
  readonly counts: Record<string, number> = {}
  readonly last: string[] = []
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  add(kind: string, about: string): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
    this.#world.note(`fault ${kind} ${about}`)
    this.last.push(`${new Date(this.#world.now).toISOString()} ${kind} ${about}`)
    if (this.last.length > 30) this.last.shift()
  }
}

export class Network {
  rates: Rates = calm
  readonly #world: World
  readonly #random: Random
  readonly #faults: FaultLog

  constructor(options: { world: World; random: Random; faults: FaultLog }) {
    this.#world = options.world
    this.#random = options.random
    this.#faults = options.faults
  }

  /** True as often as the rate says, or so many times as often; then it is counted. */
  hits(kind: keyof Rates, about: string, times = 1): boolean {
    const rate = this.rates[kind] * times
    if (rate === 0 || !this.#random.chance(rate)) return false
    this.#faults.add(kind, about)
    return true
  }

  /** An ordinary way. */
  latency(): number {
    return this.#random.whole(0, 2)
  }

  between(low: number, high: number): number {
    return this.#random.whole(low, high)
  }

  /**
   * Whoever runs this asks `to`, which does `work`, and waits for the answer. Either way takes a while, and either message
   * may be lost, late, or come twice. Rejects when the connection is known to be gone, or after `timeoutMs`.
   */
  ask<T>(
    to: Owner,
    { what, timeoutMs, repeatable = false, signal }: AskOptions,
    work: (gone: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const world = this.#world
    const from = world.owner
    const gone = new AbortController()
    const about = `${from.name} to ${to.name}: ${what}`
    // Whoever is asked learns of it when it next runs, if ever.
    const hangUp = () => world.later(this.latency(), () => gone.abort(), to)
    return new Promise<T>((resolve, reject) => {
      let over = false
      const settle = (end: () => void, delayMs: number) => {
        if (over) return
        over = true
        for (const forget of forgets) forget()
        timer.cancelled = true
        signal?.removeEventListener('abort', onAbort)
        world.later(delayMs, end, from)
      }
      const fail = (code: string, delayMs: number) => settle(() => reject(trouble(code, what)), delayMs)
      const onAbort = () => {
        hangUp()
        fail('ABORT_ERR', 0)
      }
      const forgets = [to.onGone(() => fail('ECONNRESET', this.latency())), from.onGone(hangUp)]
      const timer = world.later(timeoutMs, () => {
        hangUp()
        fail('ETIMEDOUT', 0)
      })
      signal?.addEventListener('abort', onAbort)
      if (signal?.aborted) return onAbort()
      if (to.isGone) return fail('ECONNREFUSED', 1)
      if (this.hits('lostRequest', about)) return fail('ECONNRESET', this.between(1, 500))
      const answer = (end: () => void) => {
        if (this.hits('lostAnswer', about)) {
          hangUp()
          fail('ECONNRESET', this.between(1, 500))
        } else settle(end, this.#way(about))
      }
      const deliver = () =>
        work(gone.signal).then(
          (value) => answer(() => resolve(value)),
          (error) => answer(() => reject(error)),
        )
      world.later(this.#way(about), deliver, to)
      if (repeatable && this.hits('repeatedMessage', about)) {
        world.later(this.between(1, 6_000), () => void work(gone.signal).catch(() => {}), to)
      }
    })
  }

  #way(about: string): number {
    return this.hits('lateMessage', about) ? this.between(100, 5_000) : this.latency()
  }
}

export interface AskOptions {
  what: string
  timeoutMs: number
  /** The way may bring it twice. */
  repeatable?: boolean
  signal?: AbortSignal
}

export function trouble(code: string, what: string): Error {
  return Object.assign(new Error(`${what}: ${code}`), { code })
}
