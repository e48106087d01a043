/**
 * Worker liveness in PostgreSQL: `workers.seen_at`, and one record of how long workers could be heard.
 *
 * Every node extends that record, whichever of them sweeps. Time in which no node could hear workers (the database was away, all
 * nodes were down or stuck) is not counted; a change of the sweeping node is no gap as long as another node goes on. See
 * docs/decisions/0036-a-watch-that-survives-its-watcher.md.
 */
import type { KeepAlive } from '../keep-alive/keep-alive.ts'
import { Loop } from '../lib/loop.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { readLive, seeWorkers } from '../store/workers/register.ts'
import { removeSilent } from '../store/workers/sweep.ts'
import { extendWatch } from '../store/workers/watch.ts'
import type { WorkerLiveness } from './port.ts'

export interface PostgresLivenessOptions {
  database: Database
  keepAlive: Pick<KeepAlive, 'addWorker' | 'removeWorker'>
  logger: Logger
  everyMs: number
  lostMs: number
  /** The installation's time, for tests. */
  now?: () => Date | null
}

export class PostgresLiveness implements WorkerLiveness {
  readonly #options: PostgresLivenessOptions
  readonly #gapMs: number
  readonly #loop: Loop
  #from: number | null = null

  constructor(options: PostgresLivenessOptions) {
    const { everyMs, lostMs, logger } = options
    this.#options = options
    // A heartbeat comes at least twice in lostMs: a pause of a quarter of it costs no worker its leases.
    this.#gapMs = Math.max(3 * everyMs, Math.min(3_000, lostMs / 4))
    const runOnce = async () => void (await this.listeningMs())
    this.#loop = new Loop({ name: 'worker liveness', everyMs, logger, runOnce })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  heard(workerIds: string[]): Promise<Set<string>> {
    return seeWorkers(this.#options.database, workerIds)
  }

  live(workerIds: string[], withinMs: number): Promise<Set<string>> {
    return readLive(this.#options.database, workerIds, withinMs)
  }

  /** Extends the record, too. */
  async listeningMs(): Promise<number> {
    const { database, now = () => database.now } = this.#options
    const { nextFrom, watchedMs } = await extendWatch(database, { from: this.#from, gapMs: this.#gapMs, now: now() })
    this.#from = nextFrom
    return watchedMs
  }

  forgetSilent(forMs: number): Promise<{ workerId: string; name: string }[]> {
    return removeSilent(this.#options.database, forMs)
  }

  attach(workerId: string): void {
    this.#options.keepAlive.addWorker(workerId)
  }

  detach(workerId: string): void {
    this.#options.keepAlive.removeWorker(workerId)
  }
}
