/**
 * For how long workers could be heard without a gap. A worker may be taken for lost only if it was silent for its whole time
 * while some node could hear it; which node sweeps at the moment does not matter. So every node extends one record in the
 * database, and the node that sweeps reads it there.
 *
 * What must stay true: time in which no node could hear workers (the database was away, all nodes were down or stuck) is not
 * counted, and afterwards every worker gets its full time again. A change of the sweeping node is no gap as long as another
 * node goes on. See docs/decisions/0036-a-watch-that-survives-its-watcher.md.
 */
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { extendWatch } from '../store/workers/watch.ts'

/** What the sweeper needs of it. */
export interface Watch {
  /** Extends the record; answers for how many milliseconds workers could be heard without a gap. */
  runOnce(): Promise<number>
}

export interface WorkerWatchOptions {
  database: Database
  logger: Logger
  everyMs: number
  lostMs: number
  /** The installation's time, for tests. */
  now?: () => Date | null
}

export class WorkerWatch implements Watch, Service {
  readonly #options: WorkerWatchOptions
  readonly #gapMs: number
  readonly #loop: Loop
  #from: number | null = null

  constructor(options: WorkerWatchOptions) {
    const { everyMs, lostMs, logger } = options
    this.#options = options
    // A heartbeat comes at least twice in lostMs: a pause of a quarter of it costs no worker its leases.
    this.#gapMs = Math.max(3 * everyMs, Math.min(3_000, lostMs / 4))
    this.#loop = new Loop({ name: 'worker watch', everyMs, logger, runOnce: async () => void (await this.runOnce()) })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async runOnce(): Promise<number> {
    const { database, now = () => database.now } = this.#options
    const { nextFrom, watchedMs } = await extendWatch(database, { from: this.#from, gapMs: this.#gapMs, now: now() })
    this.#from = nextFrom
    return watchedMs
  }
}
