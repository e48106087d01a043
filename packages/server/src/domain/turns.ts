/**
 * Queues by tenant, from which is taken in turns by weight: start-time fair queueing as in fairness.ts, over what is due at one node. A tenant
 * that comes begins where the turn is, and each item it gives moves it on by one part of its weight.
 */
import { equalWeights, type WeightOf } from './fairness.ts'

interface Queue<T> {
  tenant: string
  items: T[]
  /** Where its first item starts. */
  start: number
  /** Among equal starts, the tenant that came first. */
  came: number
  /** How many the call under way takes from it. */
  taking: number
}

export class Turns<T> {
  readonly #weightOf: WeightOf
  readonly #queues = new Map<string, Queue<T>>()
  /** A binary heap: the queue whose turn it is stands first. */
  readonly #heap: Queue<T>[] = []
  /** Where the last one taken started. */
  #reached = 0
  #came = 0

  constructor(weightOf: WeightOf = equalWeights) {
    this.#weightOf = weightOf
  }

  /** How many tenants have something. */
  get size(): number {
    return this.#queues.size
  }

  *items(): Generator<T> {
    for (const { items } of this.#queues.values()) yield* items
  }

  add(tenant: string, item: T): void {
    const known = this.#queues.get(tenant)
    if (known) {
      known.items.push(item)
      return
    }
    const queue = { tenant, items: [item], start: this.#reached, came: this.#came++, taking: 0 }
    this.#queues.set(tenant, queue)
    this.#heap.push(queue)
    this.#rise(this.#heap.length - 1)
  }

  /** Takes up to `max` items, those of a tenant in the order in which they came. */
  take(max: number): T[] {
    const taken: T[] = []
    const touched: Queue<T>[] = []
    while (taken.length < max && this.#heap.length > 0) {
      const queue = this.#heap[0]!
      if (queue.taking === 0) touched.push(queue)
      taken.push(queue.items[queue.taking++]!)
      this.#reached = queue.start
      queue.start += 1 / this.#weightOf(queue.tenant)
      if (queue.taking === queue.items.length) this.#removeFirst()
      else this.#sink()
    }
    // Each queue is cut once: taking from the front of a long array moves all of it.
    for (const queue of touched) {
      queue.items.splice(0, queue.taking)
      queue.taking = 0
      if (queue.items.length === 0) this.#queues.delete(queue.tenant)
    }
    return taken
  }

  #removeFirst(): void {
    const last = this.#heap.pop()!
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink()
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      if (isBefore(this.#heap[parent]!, this.#heap[at]!)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let first = at
      if (left < this.#heap.length && isBefore(this.#heap[left]!, this.#heap[first]!)) first = left
      if (right < this.#heap.length && isBefore(this.#heap[right]!, this.#heap[first]!)) first = right
      if (first === at) return
      this.#swap(at, first)
      at = first
    }
  }

  #swap(a: number, b: number): void {
    const held = this.#heap[a]!
    this.#heap[a] = this.#heap[b]!
    this.#heap[b] = held
  }
}

function isBefore(a: Queue<unknown>, b: Queue<unknown>): boolean {
  return a.start === b.start ? a.came < b.came : a.start < b.start
}
