/**
 * A timing wheel: the entries a leader has claimed from the due source, until they are due. Entries lie in slots of 10 ms; taking
 * what is due empties the slots that have passed into queues by tenant, from which it is dealt out in turns. Adding and
 * taking cost the same whatever the number of entries. It is a copy: losing it loses nothing.
 */
import type { WeightOf } from '../domain/fairness.ts'
import { Turns } from '../domain/turns.ts'
import type { DueEntry } from '../due-source/port.ts'

const slotMs = 10

export interface WheelEntry {
  /** The id of its job or execution. */
  key: string
  /** When to take it: when it is due, or when to try again. */
  at: number
  tries: number
  entry: DueEntry
}

export class Wheel {
  readonly #entries = new Map<string, WheelEntry>()
  readonly #slots = new Map<number, Set<string>>()
  /** Numbers of the slots in use, smallest first; a few hundred at most. */
  #order: number[] = []
  readonly #due: Turns<WheelEntry>

  constructor(weightOf?: WeightOf) {
    this.#due = new Turns(weightOf)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Adds an entry, or replaces the one with the same key if it is newer. */
  put(entry: WheelEntry): void {
    const known = this.#entries.get(entry.key)
    if (known) {
      // A read that began before a FIRE was answered may return the row from before it.
      if (!isNewer(entry.entry, known.entry)) return
      this.#slots.get(slotOf(known.at))?.delete(known.key)
    }
    this.#entries.set(entry.key, entry)
    const slot = slotOf(entry.at)
    let keys = this.#slots.get(slot)
    if (!keys) {
      keys = new Set()
      this.#slots.set(slot, keys)
      insertSorted(this.#order, slot)
    }
    keys.add(entry.key)
  }

  /** Takes what is due at `now`, at most `max`, in turns over tenants, by their weights. */
  take(now: number, max: number): WheelEntry[] {
    this.#collect(now)
    const taken: WheelEntry[] = []
    while (taken.length < max && this.#due.size > 0) {
      for (const entry of this.#due.take(max - taken.length)) {
        if (!this.#holds(entry)) continue
        this.#entries.delete(entry.key)
        taken.push(entry)
      }
    }
    return taken
  }

  /** When the earliest entry is due; null if there is none. 0: some that were due are still to be taken. */
  nextDue(): number | null {
    for (const entry of this.#due.items()) if (this.#holds(entry)) return 0
    // Slots whose entries were all replaced or forgotten say nothing about when to wake up.
    const first = this.#order.find((slot) => this.#slots.get(slot)!.size > 0)
    if (first === undefined) return null
    let due = Number.POSITIVE_INFINITY
    for (const key of this.#slots.get(first)!) due = Math.min(due, this.#entries.get(key)!.at)
    return due
  }

  /** Forgets the entries of shards that are not led any more. */
  keepOnly(shards: ReadonlySet<number>): void {
    for (const { key, at, entry } of this.#entries.values()) {
      if (shards.has(entry.shard)) continue
      this.#entries.delete(key)
      this.#slots.get(slotOf(at))?.delete(key)
    }
  }

  /** False: replaced or forgotten while it lay among what is due. */
  #holds(entry: WheelEntry): boolean {
    return this.#entries.get(entry.key) === entry
  }

  #collect(now: number): void {
    let passed = 0
    for (const slot of this.#order) {
      if (slot > slotOf(now)) break
      const keys = this.#slots.get(slot)!
      // First due, first fired, and so first leased within a tenant.
      const entries = Array.from(keys, (key) => this.#entries.get(key)!).sort((a, b) => a.at - b.at)
      for (const entry of entries) {
        if (entry.at > now) break
        keys.delete(entry.key)
        this.#due.add(entry.entry.tenant, entry)
      }
      // The slot that `now` lies in may still hold entries of its later milliseconds.
      if (keys.size > 0) break
      this.#slots.delete(slot)
      passed++
    }
    if (passed > 0) this.#order = this.#order.slice(passed)
  }
}

function slotOf(at: number): number {
  return Math.floor(at / slotMs)
}

/** Within a version of a job nominal times only grow. A one-shot or a submission comes before the retries of its execution. */
function isNewer(entry: DueEntry, known: DueEntry): boolean {
  if (entry.source !== known.source) return known.source !== 'retries'
  if (entry.source === 'schedules' && known.source === 'schedules') {
    if (entry.version !== known.version) return entry.version > known.version
    if (entry.nominal !== known.nominal) return entry.nominal > known.nominal
  }
  return entry.due !== known.due
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
