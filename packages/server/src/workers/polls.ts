/**
 * The long polls of workers at this node, and the cancellations to deliver with their answers: which executions to
 * stop. A cancellation that comes between two requests is remembered for a while and goes with the next one.
 *
 * What must stay true: a worker has one open request for a pool, the newest. What is told in an answer counts as told; if
 * the answer is lost, the next heartbeat brings it.
 */

import type { Cancellation } from '@carillon/contract'
import { CarillonError } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'

const rememberMs = 10_000

interface Remembered {
  cancellation: Cancellation
  until: number
}

export class Polls {
  readonly #max: number
  /** By worker, by pool. */
  readonly #open = new Map<string, Map<string, Poll>>()
  /** By worker, by execution and fence. */
  readonly #untold = new Map<string, Map<string, Remembered>>()
  /** How many each tenant has open. */
  readonly #ofTenant = new Map<string, number>()
  #count = 0
  #closed = false

  constructor(options: { max: number }) {
    this.#max = options.max
  }

  /** `gone` is aborted when the client is. A tenant, if the worker is one's, has at most half of all. */
  open(workerId: string, pool: string, owner: string | null, gone: AbortSignal): Poll {
    if (this.#closed) {
      throw new CarillonError('UNAVAILABLE', { message: 'the node is stopping', hint: 'Use another node' })
    }
    const older = this.#open.get(workerId)?.get(pool)
    const own = owner === null ? 0 : (this.#ofTenant.get(owner) ?? 0)
    if (!older && (this.#count >= this.#max || own >= this.#max / 2)) {
      const whose = this.#count >= this.#max ? `${this.#count} requests of workers` : `${own} requests of your workers`
      throw new CarillonError('TOO_MANY_WAITING', {
        message: `${whose} are open at this node, as many as it allows`,
        hint: 'Try another node, or wait for the seconds in Retry-After',
      })
    }
    older?.end()
    const poll = new Poll(gone, () => {
      this.#remove(workerId, pool, poll)
      this.#counted(owner, -1)
    })
    const pools = this.#open.get(workerId) ?? new Map<string, Poll>()
    pools.set(pool, poll)
    this.#open.set(workerId, pools)
    this.#counted(owner, 1)
    if (this.#untold.has(workerId)) poll.hurry()
    return poll
  }

  /** An execution held by the worker should stop. */
  cancelled(workerId: string, cancellation: Cancellation): void {
    const untold = this.#untold.get(workerId) ?? new Map<string, Remembered>()
    const until = monotonicMs() + rememberMs
    untold.set(`${cancellation.executionId}:${cancellation.fence}`, { cancellation, until })
    this.#untold.set(workerId, untold)
    const [poll] = this.#open.get(workerId)?.values() ?? []
    poll?.hurry()
  }

  /** What the worker has not been told yet. From now on it has. */
  take(workerId: string): Cancellation[] {
    const untold = this.#untold.get(workerId)
    if (!untold) return []
    this.#untold.delete(workerId)
    return [...untold.values()].map(({ cancellation }) => cancellation)
  }

  /** Drops cancellations that no worker fetched in time. */
  prune(): void {
    const now = monotonicMs()
    for (const [workerId, untold] of this.#untold) {
      for (const [key, { until }] of untold) if (until < now) untold.delete(key)
      if (untold.size === 0) this.#untold.delete(workerId)
    }
  }

  /** The worker is leaving. */
  endAll(workerId: string): void {
    for (const poll of this.#open.get(workerId)?.values() ?? []) poll.end()
    this.#untold.delete(workerId)
  }

  /** Answers every request at once and accepts no more. */
  close(): void {
    this.#closed = true
    for (const pools of this.#open.values()) for (const poll of pools.values()) poll.hurry()
  }

  get closed(): boolean {
    return this.#closed
  }

  #counted(owner: string | null, by: 1 | -1): void {
    this.#count += by
    if (owner === null) return
    const own = (this.#ofTenant.get(owner) ?? 0) + by
    if (own === 0) this.#ofTenant.delete(owner)
    else this.#ofTenant.set(owner, own)
  }

  #remove(workerId: string, pool: string, poll: Poll): void {
    const pools = this.#open.get(workerId)
    if (pools?.get(pool) !== poll) return
    pools.delete(pool)
    if (pools.size === 0) this.#open.delete(workerId)
  }
}

export class Poll {
  readonly #over = new AbortController()
  readonly #enough = new AbortController()
  readonly #gone: AbortSignal
  readonly #onClose: () => void

  constructor(gone: AbortSignal, onClose: () => void) {
    this.#gone = gone
    this.#onClose = onClose
    if (gone.aborted) this.end()
    else gone.addEventListener('abort', this.end)
  }

  /** Aborted when the poll is over without an answer: the client has gone, or the worker leaves. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** It is to be answered with what there is. */
  get enough(): AbortSignal {
    return this.#enough.signal
  }

  readonly end = (): void => this.#over.abort()

  hurry(): void {
    this.#enough.abort()
  }

  close(): void {
    this.#gone.removeEventListener('abort', this.end)
    this.#onClose()
  }
}
