/**
 * Measures how far this machine's clock is from PostgreSQL's, which is the installation's, and sets the node's clock by it.
 * Every node does that for itself, leader or not. Past 100 ms it warns.
 */
import { monotonicMs, type OffsetClock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { readServerTime } from '../store/installation/server-time.ts'

const warningMs = 100

export interface ClockOffsetMonitorOptions {
  database: Database
  clock: OffsetClock
  everyMs: number
  logger: Logger
}

export class ClockOffsetMonitor implements Service {
  readonly #options: ClockOffsetMonitorOptions
  readonly #loop: Loop
  #warned = false

  constructor(options: ClockOffsetMonitorOptions) {
    this.#options = options
    const { everyMs, logger } = options
    this.#loop = new Loop({ name: 'clock offset', everyMs, logger, runOnce: () => this.runOnce() })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async runOnce(): Promise<void> {
    const { database, clock, logger } = this.#options
    const asked = monotonicMs()
    clock.measured(await readServerTime(database), asked, monotonicMs())
    const offsetMs = Math.round(clock.offsetMs)
    const off = Math.abs(offsetMs) > warningMs
    const message = 'this machine’s clock differs from the database’s; the database’s is used'
    if (off && !this.#warned) logger.warn({ offsetMs }, message)
    this.#warned = off
  }
}
