/** What becomes ready, and where in the queue: tags by the weights of tenants, and limits. */
import type { WeightOf } from '../domain/fairness.ts'
import type { Leadership } from '../leadership/port.ts'
import type { Clock } from '../lib/clock.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { Limiter } from './limiter.ts'
import { createTagger, type TagFlows } from './tags.ts'
import { VirtualTimes } from './virtual-times.ts'
import { TenantWeights } from './weights.ts'

export interface AdmissionOptions {
  database: Database
  leadership: Leadership
  signals: Signals
  clock: Clock
  pollMs: number
  logger: Logger
  onSlotsLost: (slots: number) => void
}

export class Admission {
  readonly virtualTimes: VirtualTimes
  readonly weightOf: WeightOf
  readonly tag: TagFlows
  readonly limiter: Limiter
  /** In the order in which they start. */
  readonly services: readonly Service[]

  constructor(options: AdmissionOptions) {
    const { database, signals, logger } = options
    this.virtualTimes = new VirtualTimes({ database, logger })
    const weights = new TenantWeights({ database, signals, logger })
    this.weightOf = weights.weightOf
    this.tag = createTagger(database, this.virtualTimes, this.weightOf)
    this.limiter = new Limiter({ ...options, tag: this.tag, onLeaked: options.onSlotsLost })
    this.services = [this.virtualTimes, weights.reader, this.limiter]
  }
}
