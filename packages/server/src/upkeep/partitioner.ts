/**
 * Keeps the ledger's partitions: made ahead of time, removed when their history has been kept long enough. A partition
 * that still holds unfinished work or an unexpired dead letter stays. Before one goes, the floor is raised, below which
 * nothing is written any more.
 */
import { firstIdAt, timeOf } from '../domain/identity.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import {
  createPartition,
  dropPartition,
  raiseFloor,
  readInstallation,
  readOldestNeeded,
  readPartitions,
} from '../store/partitions/manage.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const aheadMs = 3 * dayMs

export class Partitioner {
  readonly #database: Database
  readonly #clock: Clock
  readonly #logger: Logger

  constructor(options: { database: Database; clock: Clock; logger: Logger }) {
    this.#database = options.database
    this.#clock = options.clock
    this.#logger = options.logger
  }

  async runOnce(): Promise<void> {
    await this.createMissing()
    await this.dropExpired()
  }

  /** Every range from the floor to some days ahead. After a long rest that fills the days in between too. */
  async createMissing(): Promise<void> {
    const { floorId, partitionHours } = await readInstallation(this.#database)
    const width = partitionHours * hourMs
    const there = new Set((await readPartitions(this.#database)).map((p) => p.from))
    const now = this.#clock.now()
    const start = Math.floor(timeOf(floorId) / width) * width
    for (let from = start; from < now + Math.max(aheadMs, 2 * width); from += width) {
      if (!there.has(from)) await createPartition(this.#database, from, from + width)
    }
  }

  async dropExpired(): Promise<void> {
    const { partitionHours, retentionDays } = await readInstallation(this.#database)
    const width = partitionHours * hourMs
    const keepFrom = this.#clock.now() - retentionDays * dayMs
    const expired = (await readPartitions(this.#database)).filter((p) => p.from + width <= keepFrom || p.detachPending)
    if (expired.length === 0) return
    const needed = await readOldestNeeded(this.#database, firstIdAt(Math.floor(keepFrom)))
    const neededFrom = needed === null ? Number.POSITIVE_INFINITY : timeOf(needed)
    for (const { from } of expired) {
      if (from + width > neededFrom) {
        this.#logger.info({ from: new Date(from).toISOString() }, 'a partition is kept: it holds unfinished work')
        return
      }
      await raiseFloor(this.#database, firstIdAt(from + width))
      await dropPartition(this.#database, from)
      this.#logger.info(
        { from: new Date(from).toISOString() },
        'a partition was dropped: its history has been kept long enough',
      )
    }
  }
}
