/**
 * The weights of tenants' shares, as this node knows them: read when a signal says that one has changed, and every ten seconds in case
 * the signal was lost. So a change counts for what comes in within milliseconds, at the latest within ten seconds; what has its tag
 * keeps it. Only weights other than 1 are read: an installation without any reads an empty index.
 */
import type { WeightOf } from '../domain/fairness.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readWeights } from '../store/tenants/tenants.ts'

const everyMs = 10_000

export class TenantWeights implements Service {
  readonly #database: Database
  readonly #signals: Signals
  readonly #loop: Loop
  #weights: ReadonlyMap<string, number> = new Map()
  #unsubscribe: (() => void) | null = null

  constructor(options: { database: Database; signals: Signals; logger: Logger }) {
    this.#database = options.database
    this.#signals = options.signals
    this.#loop = new Loop({
      name: 'weights of tenants',
      everyMs,
      logger: options.logger,
      runOnce: () => this.runOnce(),
    })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#signals.subscribe(({ kind }) => {
      if (kind === 'TENANTS') this.#loop.wake()
    })
    await this.runOnce()
    await this.#loop.start()
  }

  stop(): Promise<void> {
    this.#unsubscribe?.()
    return this.#loop.stop()
  }

  readonly weightOf: WeightOf = (tenant) => this.#weights.get(tenant) ?? 1

  async runOnce(): Promise<void> {
    this.#weights = await readWeights(this.#database)
  }
}
