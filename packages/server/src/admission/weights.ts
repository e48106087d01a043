/**
 * The weights of tenants' shares, as this node knows them. A change counts for what comes in within milliseconds, at the latest within ten
 * seconds; what has its tag keeps it. Only weights other than 1 are read: an installation without any reads an empty index.
 */
import type { WeightOf } from '../domain/fairness.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readWeights } from '../store/tenants/tenants.ts'
import { DeclarationReader } from './declaration-reader.ts'

export class TenantWeights {
  readonly reader: DeclarationReader
  #weights: ReadonlyMap<string, number> = new Map()

  constructor({ database, ...options }: { database: Database; signals: Signals; logger: Logger }) {
    const read = async () => {
      this.#weights = await readWeights(database)
    }
    this.reader = new DeclarationReader({ ...options, name: 'weights of tenants', read })
  }

  readonly weightOf: WeightOf = (tenant) => this.#weights.get(tenant) ?? 1
}
