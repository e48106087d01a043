/**
 * Submissions per second of tenants that have a quota for them, over all nodes. The budget is a row of PostgreSQL; each node takes from it
 * in slices, as large as what the tenant is likely to ask of this node in the next moments, so that most submissions cost no round trip. What a
 * node has taken and not given out after a second is dropped.
 *
 * What must stay true: a node gives out no more than it was granted, and it was granted what has grown at the tenant's rate.
 */

import type { CarillonError } from '@carillon/contract'
import type { Refusal } from '../store/tenants/quota-exceeded.ts'
import type { Budget } from '../store/tenants/quotas.ts'

/** A slice is at most this much of the rate. */
const sliceMs = 50
/** While the budget is used up, a node asks for more no more often than this. */
const pauseMs = 25
const keptMs = 1_000

interface Waiting {
  count: number
  settle: (refused: CarillonError | null) => void
}

interface Tenant {
  rate: number
  /** Granted and not given out. */
  left: number
  leftUntil: number
  /** The budget is used up until then. */
  emptyUntil: number
  /** Asked for here since `since`. */
  asked: number
  since: number
  waiting: Waiting[]
  asking: boolean
}

export interface SubmissionRatesOptions {
  take: (asked: { tenant: string; first: number; more: number }) => Promise<Budget>
  refuse: (refusal: Refusal) => CarillonError
  now: () => number
}

export class SubmissionRates {
  readonly #options: SubmissionRatesOptions
  readonly #tenants = new Map<string, Tenant>()

  constructor(options: SubmissionRatesOptions) {
    this.#options = options
  }

  /** Takes from the budget of a tenant. Throws QUOTA_EXCEEDED. */
  take(tenant: string, { rate, count }: { rate: number; count: number }): Promise<void> | undefined {
    const now = this.#options.now()
    const known = this.#of(tenant, rate, now)
    known.asked += count
    if (known.left >= count && now < known.leftUntil) {
      known.left -= count
      return undefined
    }
    if (now < known.emptyUntil) return Promise.reject(this.#refusal(known))
    return new Promise((resolve, reject) => {
      known.waiting.push({ count, settle: (error) => (error === null ? resolve() : reject(error)) })
      if (!known.asking) void this.#ask(tenant, known)
    })
  }

  /** Nothing came of these. */
  giveBack(tenant: string, count: number): void {
    const known = this.#tenants.get(tenant)
    if (known === undefined) return
    known.left += count
    known.leftUntil = this.#options.now() + keptMs
    known.emptyUntil = 0
  }

  /** Forgets tenants that have no such quota any more. */
  keep(has: (tenant: string) => boolean): void {
    for (const [tenant, { asking }] of this.#tenants) if (!asking && !has(tenant)) this.#tenants.delete(tenant)
  }

  #of(tenant: string, rate: number, now: number): Tenant {
    let known = this.#tenants.get(tenant)
    if (known === undefined) {
      known = { rate, left: 0, leftUntil: 0, emptyUntil: 0, asked: 0, since: now, waiting: [], asking: false }
      this.#tenants.set(tenant, known)
    }
    known.rate = rate
    return known
  }

  /** One question at a time; what comes meanwhile is asked for with the next. */
  async #ask(tenant: string, known: Tenant): Promise<void> {
    known.asking = true
    try {
      while (known.waiting.length > 0) await this.#askFor(tenant, known)
    } finally {
      known.asking = false
    }
  }

  async #askFor(tenant: string, known: Tenant): Promise<void> {
    const now = this.#options.now()
    if (now >= known.leftUntil) known.left = 0
    const waiting = known.waiting.splice(0)
    const wanted = waiting.reduce((sum, { count }) => sum + count, 0)
    if (wanted > known.left && now >= known.emptyUntil) {
      const first = Math.max(0, waiting[0]!.count - known.left)
      const more = wanted - known.left - first + this.#slice(known, now)
      try {
        const { granted, waitMs } = await this.#options.take({ tenant, first, more })
        known.left = granted === null ? Number.POSITIVE_INFINITY : known.left + granted
        const isEmpty = granted !== null && granted < first + more
        if (isEmpty) known.emptyUntil = this.#options.now() + Math.max(waitMs, pauseMs)
      } catch (error) {
        for (const { settle } of waiting) settle(error as CarillonError)
        return
      }
    }
    known.leftUntil = this.#options.now() + keptMs
    for (const { count, settle } of waiting) {
      if (count <= known.left) {
        known.left -= count
        settle(null)
      } else settle(this.#refusal(known))
    }
    // The quota is gone; the node will know in a moment.
    if (known.left === Number.POSITIVE_INFINITY) this.#tenants.delete(tenant)
  }

  /** What this node is likely to be asked for in the next moments, judged by what it was since the last time. */
  #slice(known: Tenant, now: number): number {
    const perMs = known.asked / Math.max(now - known.since, 1)
    known.asked = 0
    known.since = now
    return Math.floor(Math.min(known.rate / 1_000, perMs) * sliceMs)
  }

  #refusal({ rate, emptyUntil }: Tenant): CarillonError {
    const retryAfterMs = Math.max(1, emptyUntil - this.#options.now())
    return this.#options.refuse({ quota: 'submissionsPerSec', limit: rate, retryAfterMs })
  }
}
