import type { Clock } from '@carillon/contract/process'

/**
 * Node selection. Every program begins at a random node and keeps to it, so that many of them spread over the nodes. A
 * node that failed is avoided for a growing time, and others are used; it is used again after it answered a probe, never
 * by trying a request on it. When all have failed, the one whose time ends first is asked.
 */

const firstRestMs = 1_000
const longestRestMs = 30_000

export interface Candidate {
  readonly url: string
  failures: number
  /** On the local clock; null: in use. */
  restsUntil: number | null
}

export class NodeChoice<N extends Candidate> {
  readonly #clock: Clock
  readonly #random: () => number
  /** The preferred one first. */
  readonly nodes: readonly N[]

  constructor(nodes: readonly N[], { clock, random = Math.random }: { clock: Clock; random?: () => number }) {
    this.#clock = clock
    this.#random = random
    const from = Math.floor(random() * nodes.length)
    this.nodes = [...nodes.slice(from), ...nodes.slice(0, from)]
  }

  current(): N {
    const usable = this.nodes.find(({ restsUntil }) => restsUntil === null)
    return usable ?? this.nodes.reduce((a, b) => (b.restsUntil! < a.restsUntil! ? b : a))
  }

  answered(node: N): void {
    node.failures = 0
    node.restsUntil = null
  }

  failed(node: N): void {
    const restMs = Math.min(longestRestMs, firstRestMs * 2 ** Math.min(node.failures, 10))
    node.failures++
    node.restsUntil = this.#clock.now() + restMs * (0.5 + this.#random() / 2)
  }

  /** A node that would be preferred to the current one and has rested long enough to be probed. */
  worthProbing(): N | undefined {
    const now = this.#clock.now()
    const current = this.current()
    if (current.restsUntil !== null) return undefined
    for (const node of this.nodes) {
      if (node === current) return undefined
      if (node.restsUntil! <= now) return node
    }
    return undefined
  }
}
