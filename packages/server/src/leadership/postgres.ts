/**
 * Leadership by leases in PostgreSQL. The lease is on the node's row, so that renewals never meet FIRE, and is renewed by the
 * keep-alive thread. A loop shares the shards between the nodes whose lease runs; it also learns there that its own has run
 * out. A leader cut off from PostgreSQL goes by its last answer, and can write nothing.
 */
import type { KeepAlive, NodeLease } from '../keep-alive/keep-alive.ts'
import { Loop } from '../lib/loop.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { claimShards, resign } from '../store/shards/claim.ts'
import type { Leadership, LedShard } from './port.ts'

export interface PostgresLeadershipOptions {
  database: Database
  keepAlive: KeepAlive
  lease: NodeLease
  everyMs: number
  logger: Logger
}

export class PostgresLeadership implements Leadership {
  readonly #options: PostgresLeadershipOptions
  readonly #loop: Loop
  readonly #onChange = new Set<(shards: readonly LedShard[]) => void>()
  readonly #onFreed = new Set<() => void>()
  #shards: readonly LedShard[] = []
  #alone = false

  constructor(options: PostgresLeadershipOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'leadership',
      everyMs: options.everyMs,
      logger: options.logger,
      runOnce: () => this.runOnce(),
    })
  }

  async start(): Promise<void> {
    const { keepAlive, lease } = this.#options
    await keepAlive.startRenewing(lease)
    await this.runOnce()
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    const { database, keepAlive, lease } = this.#options
    await this.#loop.stop()
    this.#alone = false
    this.#set([])
    await keepAlive.stopRenewing()
    await resign(database, lease.nodeId)
    this.#freed()
  }

  shards(): readonly LedShard[] {
    return this.#shards
  }

  alone(): boolean {
    return this.#alone
  }

  onChange(listener: (shards: readonly LedShard[]) => void): () => void {
    this.#onChange.add(listener)
    return () => this.#onChange.delete(listener)
  }

  onFreed(listener: () => void): () => void {
    this.#onFreed.add(listener)
    return () => this.#onFreed.delete(listener)
  }

  wake(): void {
    this.#loop.wake()
  }

  async runOnce(): Promise<void> {
    const { shards, alone } = await claimShards(this.#options.database, this.#options.lease.nodeId)
    this.#alone = alone
    const before = this.#shards.length
    this.#set(shards)
    if (shards.length < before) this.#freed()
  }

  #set(shards: readonly LedShard[]): void {
    const same =
      shards.length === this.#shards.length &&
      shards.every((s, i) => s.shard === this.#shards[i]!.shard && s.epoch === this.#shards[i]!.epoch)
    if (same) return
    this.#log(shards)
    this.#shards = shards
    for (const listener of this.#onChange) listener(shards)
  }

  #freed(): void {
    for (const listener of this.#onFreed) listener()
  }

  #log(shards: readonly LedShard[]): void {
    const before = new Set(this.#shards.map(({ shard }) => shard))
    const gained = shards.filter(({ shard }) => !before.has(shard)).length
    const lost = this.#shards.length - (shards.length - gained)
    const message = gained > 0 ? 'this node took over shards' : 'this node gave up shards'
    this.#options.logger.info({ gained, lost, leads: shards.length }, message)
  }
}
