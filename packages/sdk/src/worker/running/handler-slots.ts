/**
 * Slots and local queues. A handler never runs more executions at once than its concurrency; what comes beyond waits in
 * its own queue, first in first out, and does not delay other handlers. A pool's slots are those of its handlers together,
 * and the pool never has more unfinished executions than slots and prefetch: that is what the poller asks by.
 */

import type { Held } from '../held.ts'
import type { PoolRegistration } from '../transport.ts'
import type { Executor } from './executor.ts'
import type { RegisteredHandler } from './registered-handler.ts'

/** A queue that never runs empty is cut back once this many at its front are gone. */
const compactAt = 1_024

export class PoolSlots {
  readonly pool: string
  readonly handlers = new Map<string, HandlerSlots>()
  slots = 0
  /** Executions waiting for a slot or having one. */
  unfinished = 0
  /** Executions that ended, ever; the poller sees the rate in it. */
  finished = 0

  constructor(pool: string) {
    this.pool = pool
  }

  add(handler: HandlerSlots): void {
    this.handlers.set(handler.definition.name, handler)
    this.slots += handler.concurrency
  }

  registration(): PoolRegistration {
    return { pool: this.pool, handlers: [...this.handlers.keys()], slots: this.slots }
  }

  async close(): Promise<void> {
    await Promise.all([...this.handlers.values()].map(({ executor }) => executor.close()))
  }

  /** How many executions could start at once, and how many more may be taken beyond that. */
  room(prefetch: number): { slots: number; prefetch: number } {
    const free = this.slots - this.unfinished
    return free >= 0 ? { slots: free, prefetch } : { slots: 0, prefetch: Math.max(0, prefetch + free) }
  }
}

export class HandlerSlots {
  readonly definition: RegisteredHandler['definition']
  readonly concurrency: number
  readonly pool: PoolSlots
  readonly executor: Executor
  active = 0
  /** Set while its queue is being worked off, so that one that ends at once does not recurse. */
  filling = false
  #queue: Held[] = []
  #head = 0

  constructor(handler: RegisteredHandler, pool: PoolSlots, executor: Executor) {
    this.definition = handler.definition
    this.concurrency = handler.concurrency ?? 10
    this.pool = pool
    this.executor = executor
  }

  enqueue(held: Held): void {
    this.#queue.push(held)
  }

  /** The next one that still waits. One that was cancelled or lost meanwhile is passed over. */
  next(): Held | undefined {
    while (this.#head < this.#queue.length) {
      const held = this.#queue[this.#head++]!
      if (this.#head >= compactAt && this.#head * 2 >= this.#queue.length) {
        this.#queue = this.#queue.slice(this.#head)
        this.#head = 0
      }
      if (held.state === 'PREFETCHED') return held
    }
    this.#queue = []
    this.#head = 0
    return undefined
  }
}
