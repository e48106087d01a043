/**
 * Events are for listeners that are connected or reconnect soon: after a quarter of an hour they are removed, a few at a time. A listener
 * that comes back later is told so, and reads the lists again.
 *
 * What a subscription has not delivered stays, within bounds: a server that is away for good must not fill the disk. Beyond
 * them the oldest are dropped, and the subscription has a gap that it tells its subscriber.
 */
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { type Dropped, forgetListeners, type PruneBounds, pruneEvents } from '../store/events/prune.ts'

const batchSize = 5_000

export const pruneBounds: PruneBounds = {
  keptMs: 15 * 60_000,
  undeliveredMs: 24 * 3_600_000,
  undeliveredMost: 10_000_000,
}

export class EventPruner {
  readonly #database: Database
  readonly #logger: Logger
  readonly #bounds: PruneBounds

  constructor(options: { database: Database; logger: Logger } & Partial<PruneBounds>) {
    const { database, logger, ...bounds } = options
    this.#database = database
    this.#logger = logger
    this.#bounds = { ...pruneBounds, ...bounds }
  }

  async runOnce(): Promise<void> {
    const dropped = new Map<string, Dropped>()
    for (let removed = batchSize; removed === batchSize; ) {
      const pruned = await pruneEvents(this.#database, this.#bounds, batchSize)
      removed = pruned.removed
      for (const gap of pruned.dropped) {
        const { after, events } = dropped.get(gap.subscription) ?? { after: gap.after, events: 0 }
        dropped.set(gap.subscription, { ...gap, after, events: events + gap.events })
      }
    }
    for (const gap of dropped.values())
      this.#logger.error({ ...gap }, 'events were dropped before a subscription had delivered them')
    await forgetListeners(this.#database)
  }
}
