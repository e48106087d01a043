/**
 * Leadership by leases in PostgreSQL. The lease is on the node's row and is renewed by a thread of its own (pulse/); this
 * loop shares the shards between the nodes whose lease runs. A node whose lease has run out is told that it leads
 * nothing. The loop also measures how far this machine's clock is from the database's.
 */
import { monotonicMs, type OffsetClock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { claimShards, resign } from '../store/shards/claim.ts'
import type { Leadership, LedShard } from './port.ts'

export interface PostgresLeadershipOptions {
  database: Database
  nodeId: string
  clock: OffsetClock
  signals: Signals
  everyMs: number
  logger: Logger
}

const clockWarningMs = 100

export class PostgresLeadership implements Leadership {
  readonly #options: PostgresLeadershipOptions
  readonly #loop: Loop
  readonly #listeners = new Set<(shards: readonly LedShard[]) => void>()
  #shards: readonly LedShard[] = []
  #alone = false
  #unsubscribe = () => {}
  #clockWarned = false

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
    await this.runOnce()
    this.#unsubscribe = this.#options.signals.subscribe((signal) => {
      if (signal.kind === 'SHARDS') this.#loop.wake()
    })
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#loop.stop()
    this.#alone = false
    this.#set([])
    await resign(this.#options.database, this.#options.nodeId)
    this.#options.signals.publish({ kind: 'SHARDS' })
  }

  shards(): readonly LedShard[] {
    return this.#shards
  }

  alone(): boolean {
    return this.#alone
  }

  onChange(listener: (shards: readonly LedShard[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  wake(): void {
    this.#loop.wake()
  }

  async runOnce(): Promise<void> {
    const { database, nodeId, clock, signals } = this.#options
    const asked = monotonicMs()
    const { shards, alone, serverTime } = await claimShards(database, nodeId)
    this.#alone = alone
    clock.measured(serverTime, asked, monotonicMs())
    this.#watchClock()
    const before = this.#shards.length
    this.#set(shards)
    // What we gave up is free for the others now.
    if (shards.length < before) signals.publish({ kind: 'SHARDS' })
  }

  #set(shards: readonly LedShard[]): void {
    const same =
      shards.length === this.#shards.length &&
      shards.every((s, i) => s.shard === this.#shards[i]!.shard && s.epoch === this.#shards[i]!.epoch)
    if (same) return
    this.#tell(shards)
    this.#shards = shards
    for (const listener of this.#listeners) listener(shards)
  }

  #tell(shards: readonly LedShard[]): void {
    const before = new Set(this.#shards.map(({ shard }) => shard))
    const gained = shards.filter(({ shard }) => !before.has(shard)).length
    const lost = this.#shards.length - (shards.length - gained)
    const message = gained > 0 ? 'this node took over shards' : 'this node gave up shards'
    this.#options.logger.info({ gained, lost, leads: shards.length }, message)
  }

  #watchClock(): void {
    const offsetMs = Math.round(this.#options.clock.offsetMs)
    const off = Math.abs(offsetMs) > clockWarningMs
    if (off && !this.#clockWarned) {
      this.#options.logger.warn(
        { offsetMs },
        'this machine’s clock differs from the database’s; the database’s is used',
      )
    }
    this.#clockWarned = off
  }
}
