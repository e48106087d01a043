/** The seconds in which several jobs fire. Some of the jobs of each are known: those of the two groups with the most. */
export interface Collision {
  at: number
  fires: number
  /** Some of the jobs. */
  samples: Sample[]
}

export type Sample = { jobId: string; name: string }[]

const keptPerHour = 50
const hourSec = 3_600

export class CollisionCounter {
  readonly #base: number
  /** Fires of each second, the largest group among them, and another one (0: there is none; else its index and 1). */
  readonly #seconds: Int32Array
  readonly #largest: Int32Array
  readonly #another: Int32Array
  readonly #groups: { jobs: number; sample: Sample }[] = []

  /** From the instant `base` on, for some hours. */
  constructor(base: number, hours: number) {
    this.#base = base
    this.#seconds = new Int32Array(hours * hourSec)
    this.#largest = new Int32Array(hours * hourSec)
    this.#another = new Int32Array(hours * hourSec)
  }

  /** Jobs that fire together; answers the number by which `add` knows them. */
  group(jobs: number, sample: Sample): number {
    return this.#groups.push({ jobs, sample }) - 1
  }

  /** A group fires at the first `count` of these times. */
  add(group: number, times: Float64Array, count: number): void {
    const [seconds, largest, another] = [this.#seconds, this.#largest, this.#another]
    const { jobs } = this.#groups[group]!
    for (let i = 0; i < count; i++) {
      const second = Math.trunc((times[i]! - this.#base) / 1_000)
      const before = seconds[second]!
      seconds[second] = before + jobs
      if (before === 0) largest[second] = group
      else if (this.#groups[largest[second]!]!.jobs >= jobs) another[second] = group + 1
      else {
        another[second] = largest[second]! + 1
        largest[second] = group
      }
    }
  }

  /** Those of one hour, the largest of them if there are very many. */
  inHour(hour: number): Collision[] {
    const found: Collision[] = []
    for (let second = hour * hourSec; second < (hour + 1) * hourSec; second++) {
      const fires = this.#seconds[second]!
      if (fires < 2) continue
      const another = this.#groups[this.#another[second]! - 1]?.sample ?? []
      const { sample } = this.#groups[this.#largest[second]!]!
      found.push({ at: this.#base + second * 1_000, fires, samples: [sample, another] })
    }
    if (found.length <= keptPerHour) return found
    return found.sort((a, b) => b.fires - a.fires).slice(0, keptPerHour)
  }
}
