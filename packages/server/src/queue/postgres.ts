/**
 * The queue of a pool by reading `ready`: LEASE takes the smallest tags from where this node has got to. See ReadyPosition for
 * where that is, and LaneTurns for whose turn it is.
 */
import { priorities } from '@carillon/contract'
import type { Clock } from '../lib/clock.ts'
import type { Leased } from '../store/executions/lease.ts'
import { LaneTurns, laneTurn } from './lane-turns.ts'
import type { PoolQueue, Queues, Selection } from './port.ts'
import { ReadyPosition } from './ready-position.ts'

export interface PostgresPoolQueueOptions {
  clock: Clock
  /** A lane was leased up to this tag. */
  onLeased: (lane: number, tag: number) => void
}

export class PostgresPoolQueue implements PoolQueue {
  readonly #options: PostgresPoolQueueOptions
  readonly #positions = priorities.map(() => new ReadyPosition())
  readonly #turns = new LaneTurns()

  constructor(options: PostgresPoolQueueOptions) {
    this.#options = options
  }

  select(): Selection {
    const now = this.#options.clock.now()
    return this.#from(this.#positions.map((position) => position.from(now)))
  }

  selectNearby(): Selection {
    const now = this.#options.clock.now()
    return this.#from(this.#positions.map((position) => position.nearby(now)))
  }

  settled(_selection: Selection, leased: readonly Leased[], inOrder: boolean): void {
    const now = this.#options.clock.now()
    const counts = priorities.map(() => 0)
    const reached = new Map<number, number>()
    for (const { lane, count, reached: tag } of leased) {
      counts[lane]! += count
      reached.set(lane, tag)
    }
    this.#turns.leased(counts)
    if (!inOrder) {
      for (const position of this.#positions) position.lower(0)
      return
    }
    for (const [lane, tag] of reached) {
      this.#positions[lane]!.reached(tag, now)
      this.#options.onLeased(lane, tag)
    }
  }

  /** Nothing was taken out of anything: the next selection reads there again. */
  abandoned(): void {}

  hint(lane: number, tag: number): void {
    this.#positions[lane]?.lower(tag)
  }

  onReady(): () => void {
    return () => {}
  }

  async stop(): Promise<void> {}

  #from(from: number[]): Selection {
    return { reading: { from, since: this.#turns.since, turn: laneTurn }, only: null }
  }
}

export function postgresQueues(clock: Clock): Queues {
  return { of: (_pool, onLeased) => new PostgresPoolQueue({ clock, onLeased }) }
}
