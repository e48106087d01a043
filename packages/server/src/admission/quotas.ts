/**
 * Quotas of tenants, as far as nodes hold them: submissions per second, Idempotency-Keys, open streams. Those of jobs, pools and workers are held
 * in SQL, where the rows are written. A tenant without quotas costs one look into a map.
 */
import type { Clock } from '../lib/clock.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { countAnswers, type NodeQuotas, readQuotas, takeBudget } from '../store/tenants/quotas.ts'
import { DeclarationReader } from './declaration-reader.ts'
import { SubmissionRates } from './submission-rates.ts'

export class TenantQuotas implements Service {
  readonly #database: Database
  readonly #reader: DeclarationReader
  readonly #rates: SubmissionRates
  #quotas: ReadonlyMap<string, NodeQuotas> = new Map()
  /** Idempotency-Keys of tenants that have a quota for them: as they were counted, with those of this node since. */
  #keys = new Map<string, number>()
  /** Open at this node, by tenant. */
  readonly #streams = new Map<string, number>()

  constructor({
    database,
    clock,
    ...options
  }: {
    database: Database
    signals: Signals
    clock: Clock
    logger: Logger
  }) {
    this.#database = database
    this.#rates = new SubmissionRates({
      take: (asked) => takeBudget(database, asked),
      refuse: (refusal) => database.quotaExceeded(refusal),
      now: () => clock.now(),
    })
    this.#reader = new DeclarationReader({ ...options, name: 'quotas of tenants', read: () => this.runOnce() })
  }

  start(): Promise<void> {
    return this.#reader.start()
  }

  stop(): Promise<void> {
    return this.#reader.stop()
  }

  async runOnce(): Promise<void> {
    const read = await readQuotas(this.#database)
    this.#quotas = new Map(read.map((quotas) => [quotas.tenant, quotas]))
    this.#rates.keep((tenant) => this.#of(tenant, 'submissionsPerSec') !== null)
    const keys = new Map<string, number>()
    for (const { tenant, maxIdempotencyKeys: most } of read) {
      if (most !== null) keys.set(tenant, await countAnswers(this.#database, { tenant, most }))
    }
    this.#keys = keys
  }

  /**
   * Does what submits `count` items, if the tenant may submit so many now. What fails, and what `submitted` says was not new, is not counted.
   * Throws QUOTA_EXCEEDED.
   */
  submit<Made>(
    { tenant, count }: { tenant: string; count: number },
    work: () => Promise<Made>,
    submitted: (made: Made) => number = () => count,
  ): Promise<Made> {
    const rate = this.#of(tenant, 'submissionsPerSec')
    return rate === null || count === 0 ? work() : this.#submitWithin({ tenant, rate, count }, work, submitted)
  }

  /** Throws QUOTA_EXCEEDED if no more Idempotency-Keys of the tenant are remembered. */
  requireKey(tenant: string): void {
    const limit = this.#of(tenant, 'maxIdempotencyKeys')
    if (limit === null || (this.#keys.get(tenant) ?? 0) < limit) return
    throw this.#database.quotaExceeded({ quota: 'maxIdempotencyKeys', limit })
  }

  /** One more is remembered. */
  keyAdded(tenant: string): void {
    const known = this.#keys.get(tenant)
    if (known !== undefined) this.#keys.set(tenant, known + 1)
  }

  /** A stream opens; call what it answers when the stream closes. Throws QUOTA_EXCEEDED. */
  openStream(tenant: string): () => void {
    const open = this.#streams.get(tenant) ?? 0
    const limit = this.#of(tenant, 'maxEventStreams')
    if (limit !== null && open >= limit) throw this.#database.quotaExceeded({ quota: 'maxEventStreams', limit })
    this.#streams.set(tenant, open + 1)
    return () => {
      const left = this.#streams.get(tenant)! - 1
      if (left === 0) this.#streams.delete(tenant)
      else this.#streams.set(tenant, left)
    }
  }

  async #submitWithin<Made>(
    { tenant, rate, count }: { tenant: string; rate: number; count: number },
    work: () => Promise<Made>,
    submitted: (made: Made) => number,
  ): Promise<Made> {
    await this.#rates.take(tenant, { rate, count })
    let used = 0
    try {
      const made = await work()
      used = submitted(made)
      return made
    } finally {
      if (used < count) this.#rates.giveBack(tenant, count - used)
    }
  }

  #of(tenant: string, quota: Exclude<keyof NodeQuotas, 'tenant'>): number | null {
    return this.#quotas.get(tenant)?.[quota] ?? null
  }
}
