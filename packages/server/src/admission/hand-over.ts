/**
 * One submission that somebody waits for: written and leased in one transaction, where else there are three (its tag, its rows,
 * its lease) and two waits for the disk.
 */
import type { Database } from '../store/database.ts'
import type { LaneReading, Leased, Slot } from '../store/executions/lease.ts'
import type { Submission } from '../store/executions/submit.ts'
import { submitAndLease } from '../store/executions/submit-and-lease.ts'
import type { AnswerEntry } from '../store/idempotency/answers.ts'
import type { VirtualTimes } from './virtual-times.ts'

export interface HandedOver {
  /** Its request was answered before. */
  answered: boolean
  /** It was written and is not with a worker yet: this is its place in the queue. */
  readyAt: number | null
}

/** Gives `write` a place of a worker that waits, which it fills. Null: nobody waits. See dispatch/pool-dispatcher.ts. */
export type FillPlace = <T>(
  pool: string,
  write: (place: { slot: Slot; reading: LaneReading }) => Promise<{ leased: Leased | null; answer: T }>,
) => Promise<T> | null

export class HandOver {
  readonly #database: Database
  readonly #virtualTimes: VirtualTimes
  readonly #fill: FillPlace

  constructor(options: { database: Database; virtualTimes: VirtualTimes; fill: FillPlace }) {
    this.#database = options.database
    this.#virtualTimes = options.virtualTimes
    this.#fill = options.fill
  }

  /** Null: nobody waits for it at this node, and nothing was done. */
  async submit(item: Submission, entry: AnswerEntry | null): Promise<HandedOver | null> {
    const { pool, lane, executionId } = item
    await this.#virtualTimes.refresh()
    return this.#fill(pool, async (place) => {
      const virtualTime = this.#virtualTimes.of(pool, lane)
      const { answered, tag, leased } = await submitAndLease(this.#database, { item, entry, virtualTime }, place)
      const isLeased = leased?.executions.includes(executionId) ?? false
      return { leased, answer: { answered, readyAt: isLeased ? null : tag } }
    })
  }
}
