/**
 * Hand-over: a single submission goes straight to a waiting worker. It is written and leased in one transaction instead of three (tag, rows,
 * lease) with two waits for the disk.
 */
import { costOf, type WeightOf } from '../domain/fairness.ts'
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

/** Passes the slot of a waiting worker to `write`, which fills it. Null: no worker waits. See dispatch/pool-dispatcher.ts. */
export type FillSlot = <T>(
  pool: string,
  write: (place: { slot: Slot; reading: LaneReading }) => Promise<{ leased: Leased | null; answer: T }>,
) => Promise<T> | null

export class HandOver {
  readonly #database: Database
  readonly #virtualTimes: VirtualTimes
  readonly #weightOf: WeightOf
  readonly #fill: FillSlot

  constructor(options: { database: Database; virtualTimes: VirtualTimes; weightOf: WeightOf; fill: FillSlot }) {
    this.#database = options.database
    this.#virtualTimes = options.virtualTimes
    this.#weightOf = options.weightOf
    this.#fill = options.fill
  }

  /** Null: no worker waits at this node, and nothing was done. */
  async submit(item: Submission, entry: AnswerEntry | null): Promise<HandedOver | null> {
    const { pool, lane, tenant, executionId } = item
    await this.#virtualTimes.refresh()
    return this.#fill(pool, async (place) => {
      const virtualTime = this.#virtualTimes.of(pool, lane)
      const cost = costOf(this.#weightOf(tenant))
      const given = { item, entry, virtualTime, cost }
      const { answered, tag, leased } = await submitAndLease(this.#database, given, place)
      const isLeased = leased?.executions.includes(executionId) ?? false
      return { leased, answer: { answered, readyAt: isLeased ? null : tag } }
    })
  }
}
