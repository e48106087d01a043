/** Sums up refusals that were only counted, and removes what is older than the audit's retention, a few rows at a time. */
import { pruneAudit, sumUpRefusals } from '../store/audit/refusals.ts'
import type { Database } from '../store/database.ts'

const batchSize = 1_000

export class AuditKeeper {
  readonly #database: Database

  constructor(options: { database: Database }) {
    this.#database = options.database
  }

  async runOnce(): Promise<void> {
    await sumUpRefusals(this.#database)
    while ((await pruneAudit(this.#database, batchSize)) === batchSize);
  }
}
