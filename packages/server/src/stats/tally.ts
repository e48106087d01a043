/** Figures of a time, added up: what happened how often, and how long it took. */
import type { Spread, StatsFigures, UsageFigures } from '@carillon/contract'
import { bucketCount, bucketOf, quantilesOf } from '../domain/log-buckets.ts'
import { readVarints, writeVarints } from '../lib/varints.ts'

/** In the order in which they are stored. */
const counted = [
  ...(['created', 'started', 'succeeded', 'failed', 'retried', 'dead', 'cancelled', 'skipped', 'onTime'] as const),
]
const shares = [0.5, 0.95, 0.99]
type Counted = (typeof counted)[number]

export class Tally {
  created = 0
  started = 0
  succeeded = 0
  failed = 0
  retried = 0
  dead = 0
  cancelled = 0
  skipped = 0
  onTime = 0
  readonly lateness = new Lengths()
  readonly pickUp = new Lengths()
  readonly duration = new Lengths()

  add(other: Tally): void {
    for (const name of counted) this[name] += other[name]
    this.lateness.add(other.lateness)
    this.pickUp.add(other.pickUp)
    this.duration.add(other.duration)
  }

  /** What `stored` has written, perhaps several times one after the other. */
  addStored(packed: Uint8Array): void {
    const numbers = readVarints(packed)
    for (let at = 0; at < numbers.length; ) {
      for (const name of counted) this[name] += numbers[at++] ?? 0
      for (const lengths of [this.lateness, this.pickUp, this.duration]) at = lengths.addStored(numbers, at)
    }
  }

  /** The counts, then the lengths of lateness, pick-up and attempts, as varints. */
  stored(): Buffer {
    const lengths = [this.lateness, this.pickUp, this.duration].flatMap((each) => each.stored())
    return writeVarints([...counted.map((name) => this[name]), ...lengths])
  }

  figures(): StatsFigures {
    const counts = Object.fromEntries(counted.map((name) => [name, this[name]])) as Record<Counted, number>
    return {
      ...counts,
      lateness: this.lateness.spread(),
      pickUp: this.pickUp.spread(),
      duration: this.duration.spread(),
    }
  }

  usage(): UsageFigures {
    const { succeeded, dead, cancelled, failed, duration } = this
    return {
      ...{ ended: succeeded + dead + cancelled, succeeded, dead, cancelled },
      ...{ attempts: duration.count, failed, runMs: Math.round(duration.sumMs) },
    }
  }
}

/** Sum and largest are kept in microseconds. */
class Lengths {
  #counts: Float64Array | null = null
  #count = 0
  #sum = 0
  #max = 0

  get count(): number {
    return this.#count
  }

  get sumMs(): number {
    return this.#sum / 1_000
  }

  measure(ms: number): void {
    this.#counts ??= new Float64Array(bucketCount)
    this.#counts[bucketOf(ms)]!++
    this.#count++
    const us = ms * 1_000
    this.#sum += us
    if (us > this.#max) this.#max = us
  }

  add(other: Lengths): void {
    if (other.#counts === null) return
    this.#counts ??= new Float64Array(bucketCount)
    for (let i = 0; i < bucketCount; i++) this.#counts[i]! += other.#counts[i]!
    this.#count += other.#count
    this.#sum += other.#sum
    this.#max = Math.max(this.#max, other.#max)
  }

  /** How many buckets follow; and unless none: sum, largest, the first bucket that is not empty, and from there on the counts. */
  stored(): number[] {
    const counts = this.#counts
    if (counts === null) return [0]
    const first = counts.findIndex((count) => count > 0)
    const used = counts.subarray(first, counts.findLastIndex((count) => count > 0) + 1)
    return [used.length, Math.round(this.#sum), Math.round(this.#max), first, ...used]
  }

  /** Answers where the next begins. */
  addStored(numbers: readonly number[], at: number): number {
    const used = numbers[at] ?? 0
    if (used === 0) return at + 1
    this.#counts ??= new Float64Array(bucketCount)
    this.#sum += numbers[at + 1] ?? 0
    this.#max = Math.max(this.#max, numbers[at + 2] ?? 0)
    const first = numbers[at + 3] ?? 0
    for (let i = 0; i < used; i++) {
      const count = numbers[at + 4 + i] ?? 0
      if (first + i < bucketCount) this.#counts[first + i]! += count
      this.#count += count
    }
    return at + 4 + used
  }

  spread(): Spread {
    const counts = this.#counts
    const count = this.#count
    if (counts === null || count === 0) {
      return { count: 0, meanMs: null, p50Ms: null, p95Ms: null, p99Ms: null, maxMs: null }
    }
    const maxMs = this.#max / 1_000
    const [p50Ms, p95Ms, p99Ms] = quantilesOf(counts, count, shares).map((ms) => rounded(Math.min(maxMs, ms)))
    return {
      ...{ count, meanMs: rounded(this.#sum / count / 1_000), maxMs: rounded(maxMs) },
      ...{ p50Ms: p50Ms!, p95Ms: p95Ms!, p99Ms: p99Ms! },
    }
  }
}

/** To three digits behind the point. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
