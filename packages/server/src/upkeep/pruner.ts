/**
 * The pruner removes what nothing refers to any more, a little at a time: deleted jobs and graphs, old versions and spans whose history is
 * gone, nodes that have long been away, the tags of tenants that are not ahead of their lane (for those, the lane's
 * virtual time says the same), expired answers, dedupe keys without a holder, receipts of
 * submissions whose history is gone, operations that ended before the kept history, and remains of leases without a holder.
 */
import { timeOf } from '../domain/identity.ts'
import { pruneDags } from '../store/dags/definitions.ts'
import type { Database } from '../store/database.ts'
import { type KeyPosition, pruneKeys } from '../store/dedupes/holders.ts'
import { pruneDedupeRequests } from '../store/dedupes/requests.ts'
import { pruneAnswers } from '../store/idempotency/answers.ts'
import { pruneFlows, pruneJobs, pruneSpans, pruneVersions } from '../store/jobs/prune.ts'
import { pruneOperations } from '../store/operations/operations.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { forgetNodes } from '../store/shards/claim.ts'
import { pruneReceipts } from '../store/verification/receipts.ts'
import { pruneLeases } from '../store/workers/prune-leases.ts'

const batchSize = 1_000

export class Pruner {
  readonly #database: Database

  constructor(options: { database: Database }) {
    this.#database = options.database
  }

  async runOnce(): Promise<void> {
    // Nothing older than the floor is in the ledger; what was replaced or deleted before it has no execution left.
    const floor = timeOf((await readInstallation(this.#database)).floorId)
    await drain(() => pruneVersions(this.#database, floor, batchSize))
    await drain(() => pruneJobs(this.#database, floor, batchSize))
    await drain(() => pruneSpans(this.#database, floor, batchSize))
    await drain(() => pruneDags(this.#database, floor, batchSize))
    await drain(() => pruneReceipts(this.#database, floor, batchSize))
    await drain(() => pruneFlows(this.#database, batchSize))
    await drain(() => pruneAnswers(this.#database, batchSize))
    await drain(() => pruneDedupeRequests(this.#database, batchSize))
    await this.#pruneKeys()
    await drain(() => pruneOperations(this.#database, floor, batchSize))
    await pruneLeases(this.#database)
    await forgetNodes(this.#database)
  }

  async #pruneKeys(): Promise<void> {
    for (let at: KeyPosition | null = { tenant: '', key: '' }; at; ) {
      at = await pruneKeys(this.#database, at, batchSize)
    }
  }
}

async function drain(prune: () => Promise<number>): Promise<void> {
  while ((await prune()) === batchSize);
}
