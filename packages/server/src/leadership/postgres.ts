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
import { ShardList } from './shard-list.ts'

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
  readonly #led: ShardList
  readonly #onFreed = new Set<() => void>()
  #alone = false

  constructor(options: PostgresLeadershipOptions) {
    this.#options = options
    this.#led = new ShardList(options.logger)
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
    this.#led.set([])
    await keepAlive.stopRenewing()
    await resign(database, lease.nodeId)
    this.#freed()
  }

  shards(): readonly LedShard[] {
    return this.#led.shards
  }

  alone(): boolean {
    return this.#alone
  }

  onChange(listener: (shards: readonly LedShard[]) => void): () => void {
    return this.#led.onChange(listener)
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
    const before = this.#led.shards.length
    this.#led.set(shards)
    if (shards.length < before) this.#freed()
  }

  #freed(): void {
    for (const listener of this.#onFreed) listener()
  }
}
