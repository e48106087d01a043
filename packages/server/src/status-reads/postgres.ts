/** Status reads from PostgreSQL. Concurrent questions are read in one query. */
import { Batcher } from '../lib/batcher.ts'
import type { Database } from '../store/database.ts'
import { readEach, readEnded } from '../store/executions/read.ts'
import type { ExecutionKey, ExecutionRecord, StatusReads } from './port.ts'

const mostReads = 50

export class PostgresStatusReads implements StatusReads {
  readonly maxAgeMs = 0
  readonly #database: Database
  readonly #reads: Batcher<ExecutionKey, ExecutionRecord | null>

  /** `gatherMs`: how long to wait for more questions, if the answer is in no hurry. */
  constructor(database: Database, { gatherMs }: { gatherMs?: number } = {}) {
    this.#database = database
    const flush = (keys: ExecutionKey[]) => readEach(database, keys)
    this.#reads = new Batcher({ maxItems: () => mostReads, concurrency: 3, besideItems: 25, gatherMs, flush })
  }

  find(key: ExecutionKey): Promise<ExecutionRecord | null> {
    return this.#reads.add(key)
  }

  findCurrent(key: ExecutionKey): Promise<ExecutionRecord | null> {
    return this.#reads.add(key)
  }

  ended(executionIds: string[]): Promise<Set<string>> {
    return readEnded(this.#database, executionIds)
  }
}
