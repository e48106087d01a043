/**
 * Events are for listeners that are connected or reconnect soon: after a quarter of an hour they are removed, a few at a time. A listener
 * that comes back later is told so, and reads the lists again.
 */
import type { Database } from '../store/database.ts'
import { forgetListeners, pruneEvents } from '../store/events/prune.ts'

const keptMs = 15 * 60_000
const batchSize = 5_000

export class EventPruner {
  readonly #database: Database
  readonly #keptMs: number

  constructor(options: { database: Database; keptMs?: number }) {
    this.#database = options.database
    this.#keptMs = options.keptMs ?? keptMs
  }

  async runOnce(): Promise<void> {
    while ((await pruneEvents(this.#database, this.#keptMs, batchSize)) === batchSize);
    await forgetListeners(this.#database)
  }
}
