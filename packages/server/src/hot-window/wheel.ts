/**
 * The hot window in memory: a timing wheel. Entries lie in slots of 10 ms; taking what is due empties the slots that
 * have passed into queues by tenant, from which it is dealt out in turns. Adding and taking cost the same whatever the
 * number of entries.
 */
import { takeInTurns } from '../domain/fairness.ts'
import type { HotEntry, HotWindow } from './port.ts'

const slotMs = 10

export class Wheel implements HotWindow {
  readonly #entries = new Map<string, HotEntry>()
  readonly #slots = new Map<number, Set<string>>()
  /** Numbers of the slots in use, smallest first; a few hundred at most. */
  #order: number[] = []
  readonly #due = new Map<string, HotEntry[]>()

  get size(): number {
    return this.#entries.size
  }

  put(entry: HotEntry): void {
    const known = this.#entries.get(entry.key)
    if (known) {
      // A read that began before a FIRE was answered may bring what stood there before it.
      if (known.asOf > entry.asOf) return
      if (known.due === entry.due && sameVersion(known, entry)) return
      this.#slots.get(slotOf(known.due))?.delete(known.key)
    }
    this.#entries.set(entry.key, entry)
    const slot = slotOf(entry.due)
    let keys = this.#slots.get(slot)
    if (!keys) {
      keys = new Set()
      this.#slots.set(slot, keys)
      insertSorted(this.#order, slot)
    }
    keys.add(entry.key)
  }

  take(now: number, max: number): HotEntry[] {
    this.#collect(now)
    const taken: HotEntry[] = []
    while (taken.length < max && this.#due.size > 0) {
      for (const entry of takeInTurns(this.#due, max - taken.length)) {
        if (!this.#holds(entry)) continue
        this.#entries.delete(entry.key)
        taken.push(entry)
      }
    }
    return taken
  }

  nextDue(): number | null {
    for (const queue of this.#due.values()) if (queue.some((entry) => this.#holds(entry))) return 0
    // Slots whose entries were all replaced or forgotten say nothing about when to wake up.
    const first = this.#order.find((slot) => this.#slots.get(slot)!.size > 0)
    if (first === undefined) return null
    let due = Number.POSITIVE_INFINITY
    for (const key of this.#slots.get(first)!) due = Math.min(due, this.#entries.get(key)!.due)
    return due
  }

  keepOnly(shards: ReadonlySet<number>): void {
    for (const entry of this.#entries.values()) {
      if (shards.has(entry.shard)) continue
      this.#entries.delete(entry.key)
      this.#slots.get(slotOf(entry.due))?.delete(entry.key)
    }
  }

  /** False: replaced or forgotten while it lay among what is due. */
  #holds(entry: HotEntry): boolean {
    return this.#entries.get(entry.key) === entry
  }

  #collect(now: number): void {
    let passed = 0
    for (const slot of this.#order) {
      if (slot > slotOf(now)) break
      const keys = this.#slots.get(slot)!
      // First due, first fired, and so first leased within a tenant.
      const entries = Array.from(keys, (key) => this.#entries.get(key)!).sort((a, b) => a.due - b.due)
      for (const entry of entries) {
        if (entry.due > now) break
        keys.delete(entry.key)
        const queue = this.#due.get(entry.tenant)
        if (queue) queue.push(entry)
        else this.#due.set(entry.tenant, [entry])
      }
      // The slot that `now` lies in may still hold entries of its later milliseconds.
      if (keys.size > 0) break
      this.#slots.delete(slot)
      passed++
    }
    if (passed > 0) this.#order = this.#order.slice(passed)
  }
}

function slotOf(due: number): number {
  return Math.floor(due / slotMs)
}

function sameVersion(a: HotEntry, b: HotEntry): boolean {
  if (a.source !== b.source) return false
  return a.source !== 'schedules' || b.source !== 'schedules' || a.schedule.version === b.schedule.version
}

function insertSorted(order: number[], slot: number): void {
  let low = 0
  let high = order.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (order[middle]! < slot) low = middle + 1
    else high = middle
  }
  order.splice(low, 0, slot)
}
