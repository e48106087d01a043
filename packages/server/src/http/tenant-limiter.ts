/**
 * Limits how many requests run at once. Tenants take turns, and none has more than half of the slots: a tenant that sends
 * thousands of requests at once queues behind itself and delays neither other tenants nor the node's own work.
 */
import { CarillonError } from '@carillon/contract'

interface TenantQueue {
  running: number
  waiting: (() => void)[]
}

export class TenantLimiter {
  readonly #slots: number
  readonly #maxWaiting: number
  /** Tenants with running or waiting requests; the first is the next to get a slot. */
  readonly #tenants = new Map<string, TenantQueue>()
  #running = 0
  #waiting = 0

  /** `maxWaiting`: per tenant. */
  constructor({ slots, maxWaiting }: { slots: number; maxWaiting: number }) {
    this.#slots = slots
    this.#maxWaiting = maxWaiting
  }

  /** Runs `work` when it is the tenant's turn. Throws RATE_LIMITED if too many of its requests wait already. */
  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const acquired = this.acquire(tenant)
    const release = acquired instanceof Promise ? await acquired : acquired
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Takes a slot, at once or when it is the tenant's turn, and returns its release. Throws RATE_LIMITED as `run` does. */
  acquire(tenant: string): (() => void) | Promise<() => void> {
    const queue = this.#tenants.get(tenant) ?? { running: 0, waiting: [] }
    this.#tenants.set(tenant, queue)
    const release = once(() => this.#release(tenant, queue))
    if (this.#hasSlot(queue)) {
      this.#take(queue)
      return release
    }
    if (queue.waiting.length < this.#maxWaiting) {
      this.#waiting++
      return new Promise<void>((start) => queue.waiting.push(start)).then(() => release)
    }
    throw new CarillonError('RATE_LIMITED', {
      message: `${queue.waiting.length} requests of this tenant already wait at this node`,
      hint: 'Wait for the seconds in Retry-After; send fewer at the same time',
    })
  }

  #hasSlot(queue: TenantQueue): boolean {
    return this.#running < this.#slots && queue.running < this.#slots / 2
  }

  #take(queue: TenantQueue): void {
    queue.running++
    this.#running++
  }

  #release(tenant: string, queue: TenantQueue): void {
    queue.running--
    this.#running--
    if (queue.running === 0 && queue.waiting.length === 0) this.#tenants.delete(tenant)
    if (this.#waiting === 0) return
    for (const [next, others] of this.#tenants) {
      if (others.waiting.length === 0 || !this.#hasSlot(others)) continue
      this.#take(others)
      this.#waiting--
      // To the end: the other tenants come before its next request.
      this.#tenants.delete(next)
      this.#tenants.set(next, others)
      others.waiting.shift()!()
      return
    }
  }
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (!done) work()
    done = true
  }
}
