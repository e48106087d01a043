/**
 * Keeps a node alive whose time stands still: nothing has to be renewed while it does, and before it is set the workers
 * that live are seen at the new time. Otherwise they would be taken for lost whenever a test lets an hour pass.
 */
import type { KeepAlive, NodeLease } from '../keep-alive/keep-alive.ts'
import type { Database } from '../store/database.ts'
import { renewLease } from '../store/shards/claim.ts'
import { seeWorkersSql } from '../store/workers/register.ts'

/** Longer than any test lets pass: there is no other node to take over. */
const leaseMs = 10_000 * 366 * 86_400_000

export class VirtualKeepAlive implements KeepAlive {
  readonly #database: Database
  readonly #workerIds = new Set<string>()

  constructor(database: Database) {
    this.#database = database
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async startRenewing({ nodeId, nodeName: name }: NodeLease): Promise<void> {
    await renewLease(this.#database, { nodeId, name, leaseMs })
  }

  async stopRenewing(): Promise<void> {}

  addWorker(workerId: string): void {
    this.#workerIds.add(workerId)
  }

  removeWorker(workerId: string): void {
    this.#workerIds.delete(workerId)
  }

  async seeWorkers(at: Date): Promise<void> {
    await this.#database.query('see-workers', seeWorkersSql, [[...this.#workerIds], at])
  }
}
