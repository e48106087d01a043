/** How much of a time was healthy: outside of every trouble and of the time after it in which it may still be felt. */
import type { History } from '../history.ts'

interface Window {
  from: number
  to: number
}

export class HealthyTime {
  /** Troubled, disjoint, ascending. */
  readonly #troubled: Window[] = []

  constructor({ troubles, recoveryMs }: Pick<History, 'troubles' | 'recoveryMs'>) {
    const felt = troubles.map(({ from, to }) => ({ from, to: to + recoveryMs })).sort((a, b) => a.from - b.from)
    for (const { from, to } of felt) {
      const last = this.#troubled.at(-1)
      if (last && from <= last.to) last.to = Math.max(last.to, to)
      else this.#troubled.push({ from, to })
    }
  }

  between(from: number, to: number): number {
    if (to <= from) return 0
    let healthy = to - from
    for (let i = this.#firstEndingAfter(from); i < this.#troubled.length; i++) {
      const window = this.#troubled[i]!
      if (window.from >= to) break
      healthy -= Math.min(window.to, to) - Math.max(window.from, from)
    }
    return healthy
  }

  /** Whether no moment of it was troubled. */
  throughout(from: number, to: number): boolean {
    const window = this.#troubled[this.#firstEndingAfter(from)]
    return window === undefined || window.from > to
  }

  #firstEndingAfter(at: number): number {
    let [low, high] = [0, this.#troubled.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#troubled[middle]!.to <= at) low = middle + 1
      else high = middle
    }
    return low
  }
}
