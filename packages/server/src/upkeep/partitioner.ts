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
import { isTransient } from '../store/trouble.ts'

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
    const postponed = await this.createMissing()
    await this.dropExpired()
    if (postponed) throw postponed
  }

  /**
   * Every range from the floor to some days ahead. After a long rest that fills the days in between too. What is not
   * needed yet may meet a lock: that is tried again later, and its error answered.
   */
  async createMissing(): Promise<unknown> {
    const { floorId, partitionHours } = await readInstallation(this.#database)
    const width = partitionHours * hourMs
    const there = new Set((await readPartitions(this.#database)).filter((p) => p.whole).map((p) => p.from))
    const now = this.#clock.now()
    const start = Math.floor(timeOf(floorId) / width) * width
    let postponed: unknown = null
    for (let from = start; from < now + Math.max(aheadMs, 2 * width); from += width) {
      if (there.has(from)) continue
      try {
        await createPartition(this.#database, from, from + width)
      } catch (error) {
        if (!isTransient(error) || from <= now) throw error
        postponed = error
      }
    }
    return postponed
  }

  async dropExpired(): Promise<void> {
    const { partitionHours, retentionDays, floorId } = await readInstallation(this.#database)
    const width = partitionHours * hourMs
    const keepFrom = Math.floor(this.#clock.now() - retentionDays * dayMs)
    for (const { from, whole } of await readPartitions(this.#database)) {
      const end = firstIdAt(from + width)
      // One that a node died over goes on going, even if the retention has become longer meanwhile.
      if (from + width > keepFrom && (whole || end > floorId)) continue
      if (!(await this.#giveUp(end, keepFrom))) {
        this.#logger.info({ from: new Date(from).toISOString() }, 'a partition is kept: it holds what is still needed')
        return
      }
      await dropPartition(this.#database, from)
      this.#logger.info(
        { from: new Date(from).toISOString() },
        'a partition was dropped: its history has been kept long enough',
      )
    }
  }

  /** Raises the floor to `end`, unless something below it is needed. True: nothing is, and nothing new comes there. */
  async #giveUp(end: string, keepFrom: number): Promise<boolean> {
    const isNeeded = async () => (await readOldestNeeded(this.#database, end, keepFrom)) !== null
    if (await isNeeded()) return false
    await raiseFloor(this.#database, end)
    // What came between the question and the floor is seen now.
    return !(await isNeeded())
  }
}
