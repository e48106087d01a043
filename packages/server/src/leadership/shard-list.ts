import type { Logger } from '../observability/logger.ts'
import type { LedShard } from '../store/shards/claim.ts'

/** The shards that a node leads as far as it knows; tells of every change, and logs it. */
export class ShardList {
  readonly #logger: Logger
  readonly #listeners = new Set<(shards: readonly LedShard[]) => void>()
  #shards: readonly LedShard[] = []

  constructor(logger: Logger) {
    this.#logger = logger
  }

  get shards(): readonly LedShard[] {
    return this.#shards
  }

  set(shards: readonly LedShard[]): void {
    const same =
      shards.length === this.#shards.length &&
      shards.every((s, i) => s.shard === this.#shards[i]!.shard && s.epoch === this.#shards[i]!.epoch)
    if (same) return
    this.#log(shards)
    this.#shards = shards
    for (const listener of this.#listeners) listener(shards)
  }

  onChange(listener: (shards: readonly LedShard[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #log(shards: readonly LedShard[]): void {
    const before = new Set(this.#shards.map(({ shard }) => shard))
    const gained = shards.filter(({ shard }) => !before.has(shard)).length
    const lost = this.#shards.length - (shards.length - gained)
    const message = gained > 0 ? 'this node took over shards' : 'this node gave up shards'
    this.#logger.info({ gained, lost, leads: shards.length }, message)
  }
}
