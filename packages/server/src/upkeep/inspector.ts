/**
 * The inspector looks for rows that no duty will ever move, because nothing leads to them: a schedule without its job, a
 * submission older than the history that is kept, a shard out of range. Nothing fails because of them, and without the inspector
 * they would stay unknown. It quarantines them. Entries that a person has repaired leave the quarantine.
 */
import type { Database } from '../store/database.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { leaveResumed } from '../store/quarantine/leave.ts'
import { findStuck } from '../store/quarantine/stuck.ts'

/** Late by less, a row may be about to move. */
const lateMs = 10_000
const batchSize = 1_000

export class Inspector {
  readonly #database: Database
  readonly #isolation: Isolation

  constructor(options: { database: Database; isolation: Isolation }) {
    this.#database = options.database
    this.#isolation = options.isolation
  }

  /** Answers how many it found. */
  async runOnce(options: { lateMs?: number } = {}): Promise<number> {
    let found = 0
    await leaveResumed(this.#database)
    for (;;) {
      const stuck = await findStuck(this.#database, { lateMs: options.lateMs ?? lateMs, limit: batchSize })
      const rows = [...new Map(stuck.map((row) => [`${row.source} ${JSON.stringify(row.key)}`, row])).values()]
      await this.#isolation.setAside(
        'inspection',
        rows.map((row) => ({ item: row, row })),
      )
      found += rows.length
      if (rows.length < batchSize) return found
    }
  }
}
