/**
 * Submissions that are due now: what FIRE does for a schedule, done at once. Submissions that arrive together are written
 * together, each answered after its commit.
 */
import { BatchLimit } from '../lib/batch-limit.ts'
import { Batcher } from '../lib/batcher.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { type Submission, submit } from '../store/executions/submit.ts'
import { wasTooSlow } from '../store/trouble.ts'
import type { TagFlows } from './tags.ts'

const maxBatch = 1_000

export class Submitter {
  readonly #database: Database
  readonly #tag: TagFlows
  readonly #signals: Signals
  readonly #batcher: Batcher<Submission, true>
  readonly #limit = new BatchLimit(maxBatch)

  constructor(options: { database: Database; tag: TagFlows; signals: Signals }) {
    this.#database = options.database
    this.#tag = options.tag
    this.#signals = options.signals
    this.#batcher = new Batcher({
      maxItems: () => this.#limit.current,
      concurrency: 2,
      flush: async (items) => {
        await this.#limit.watch(() => this.submitAll(items), wasTooSlow)
        return items.map(() => true as const)
      },
    })
  }

  /** Resolves after the commit. */
  async submit(item: Submission): Promise<void> {
    await this.#batcher.add(item)
  }

  /** Writes all of them in one transaction. */
  async submitAll(items: Submission[]): Promise<void> {
    if (items.length === 0) return
    const tags = await this.#tag(items)
    await submit(this.#database, items, tags)
    const lanes = new Map<string, { pool: string; lane: number; tag: number }>()
    items.forEach(({ pool, lane }, i) => {
      const key = `${pool}\u0000${lane}`
      const known = lanes.get(key)
      if (!known || tags[i]! < known.tag) lanes.set(key, { pool, lane, tag: tags[i]! })
    })
    for (const lane of lanes.values()) this.#signals.publish({ kind: 'READY', ...lane })
  }

  idle(): Promise<void> {
    return this.#batcher.idle()
  }
}
