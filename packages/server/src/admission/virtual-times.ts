/**
 * How far each lane has been leased, over all nodes: the V of fair sharing. LEASE writes none of it; each node tells the
 * others every 100 ms. A V that is a moment old gives new work a tag that is a little too small, never one that
 * starves a tenant.
 */
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { publishVirtualTimes } from '../store/executions/reserve-tags.ts'

const everyMs = 100
/** After this many rounds without a lease or a reservation a node stops asking, and asks again before its next reservation. */
const idleRounds = 20

export class VirtualTimes implements Service {
  readonly #database: Database
  readonly #loop: Loop
  readonly #times = new Map<string, { pool: string; lane: number; virtualTime: number; published: number }>()
  #quietRounds = 0

  constructor(options: { database: Database; logger: Logger }) {
    this.#database = options.database
    this.#loop = new Loop({ name: 'virtual times', everyMs, logger: options.logger, runOnce: () => this.runOnce() })
  }

  async start(): Promise<void> {
    await this.runOnce()
    await this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  of(pool: string, lane: number): number {
    return this.#entry(pool, lane).virtualTime
  }

  /** Refreshes the times if this node has stopped polling them. */
  async refresh(): Promise<void> {
    const rested = this.#quietRounds > idleRounds
    this.#quietRounds = 0
    if (rested) await this.runOnce()
  }

  /** Executions up to this tag were leased. */
  leased(pool: string, lane: number, tag: number): void {
    const entry = this.#entry(pool, lane)
    if (tag > entry.virtualTime) entry.virtualTime = tag
  }

  async runOnce(): Promise<void> {
    const changed = [...this.#times.values()].filter((entry) => entry.virtualTime > entry.published)
    if (changed.length === 0 && this.#quietRounds++ > idleRounds) return
    const told = changed.map(({ pool, lane, virtualTime }) => ({ pool, lane, virtualTime }))
    for (const { pool, lane, virtualTime } of await publishVirtualTimes(this.#database, told)) {
      const entry = this.#entry(pool, lane)
      entry.virtualTime = Math.max(entry.virtualTime, virtualTime)
      entry.published = virtualTime
    }
  }

  #entry(pool: string, lane: number) {
    const key = `${pool}\u0000${lane}`
    let entry = this.#times.get(key)
    if (!entry) {
      entry = { pool, lane, virtualTime: 0, published: 0 }
      this.#times.set(key, entry)
    }
    return entry
  }
}
