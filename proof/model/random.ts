/** Chance from a seed: the same seed makes the same choices. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to, not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let x = this.#state
    x = Math.imul(x ^ (x >>> 15), x | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** Whole numbers, both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  /** One of them; undefined if there is none. */
  of<T>(all: readonly T[]): T | undefined {
    return all.length === 0 ? undefined : all[this.between(0, all.length - 1)]
  }

  pick<T>(all: readonly [T, ...T[]]): T {
    return this.of(all)!
  }

  seed(): number {
    return Math.floor(this.next() * 0x1_0000_0000)
  }
}
