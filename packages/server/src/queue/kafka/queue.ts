/**
 * The queue of a pool through Kafka: messages tell this node which rows of `ready` to lease, and LEASE takes exactly these.
 *
 * Kafka tells, PostgreSQL decides: a message whose row is gone is dropped. While no messages can come, because Kafka is away or this node
 * was given no partition, the node reads `ready` itself, as it does without Kafka. It also does when its workers wait and no message has
 * come for a second: so a message that was lost, or lies at a node whose workers are busy, delays nothing for longer.
 */
import { priorities } from '@carillon/contract'
import type { KafkaCluster } from '../../kafka/cluster.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Database } from '../../store/database.ts'
import type { Leased } from '../../store/executions/lease.ts'
import type { PoolQueue, Selection } from '../port.ts'
import { PostgresPoolQueue } from '../postgres.ts'
import type { RelayFigures } from './figures.ts'
import { TopicReader } from './reader.ts'
import { Relay } from './relay.ts'
import { ToldRows } from './told.ts'
import { groupOf, topicsOf } from './topics.ts'

const lookEveryMs = 1_000
/** With so many untried messages the reader pauses, until half of them are left. */
const mostTold = 2_000

export interface KafkaPoolQueueOptions {
  database: Database
  cluster: KafkaCluster
  installationId: string
  clock: Clock
  pool: string
  logger: Logger
  figures: RelayFigures
  /** A lane was leased up to this tag. */
  onLeased: (lane: number, tag: number) => void
  /** PostgreSQL is read because no messages can come. */
  onFallback: () => void
  onAway: (away: boolean) => void
}

export class KafkaPoolQueue implements PoolQueue {
  readonly #options: KafkaPoolQueueOptions
  readonly #postgres: PostgresPoolQueue
  readonly #told = new ToldRows()
  readonly #reader: TopicReader
  readonly #relay: Relay
  readonly #listeners = new Set<() => void>()
  #changed = Promise.resolve()
  /** The last reading of `ready`, and for how many. */
  #look: { selection: Selection; count: number } | null = null
  #lookAfter = Number.NEGATIVE_INFINITY
  #toldAt = Number.NEGATIVE_INFINITY
  /** A hint came, and since then neither a message nor a reading of `ready`. */
  #isHinted = false
  /** For how many the last selection by messages was. */
  #named = 0

  constructor(options: KafkaPoolQueueOptions) {
    this.#options = options
    const { cluster, installationId, pool, clock, logger, database, figures, onLeased } = options
    const topics = topicsOf(cluster.prefix, pool)
    this.#postgres = new PostgresPoolQueue({ clock, onLeased })
    this.#relay = new Relay({ database, cluster, clock, pool, topics, logger, figures })
    this.#reader = new TopicReader({
      ...{ cluster, topics, logger, groupId: groupOf(cluster.prefix, installationId, pool) },
      onMessage: ({ lane, tag, executionId }, place) => {
        this.#toldAt = clock.now()
        this.#isHinted = false
        this.#told.add({ lane: priorities.indexOf(lane), tag, executionId }, place)
        if (this.#told.size >= mostTold) this.#reader.pause()
        for (const listener of this.#listeners) listener()
      },
      onChange: () => this.#readerChanged(),
      unsettled: () => this.#told.unsettled(),
    })
  }

  /** Whether messages can come to this node. */
  get isTold(): boolean {
    return this.#reader.isReading()
  }

  select(count: number): Selection | null {
    this.#reader.want()
    if (!this.#reader.isReading()) {
      if (this.#reader.hasFailed()) this.#options.onFallback()
      return this.#postgres.select()
    }
    const only = this.#told.first(count)
    if (only.length > 0) {
      this.#named = count
      return { reading: this.#postgres.selectNearby().reading, only }
    }
    if (this.#options.clock.now() < this.#lookAfter) return null
    const selection = this.#postgres.select()
    this.#look = { selection, count }
    this.#isHinted = false
    return selection
  }

  selectNearby(): Selection {
    return this.#postgres.selectNearby()
  }

  settled(selection: Selection, leased: readonly Leased[], inOrder: boolean): void {
    const count = leased.reduce((sum, each) => sum + each.count, 0)
    if (selection.only !== null) {
      this.#told.settled(selection.only, leased, !inOrder || count < this.#named)
      if (this.#told.size <= mostTold / 2) this.#reader.resume()
    } else if (selection === this.#look?.selection) {
      // One that filled every slot may have left more behind; if messages come, they tell.
      const now = this.#options.clock.now()
      if (count < this.#look.count || now - this.#toldAt < lookEveryMs) this.#lookAfter = now + lookEveryMs
    }
    this.#postgres.settled(selection, leased, inOrder)
  }

  abandoned(): void {}

  hint(lane: number, tag: number): void {
    const now = this.#options.clock.now()
    // A message is on its way. If none comes, the hints that follow do not put the reading off.
    if (now >= this.#lookAfter && !this.#isHinted) this.#lookAfter = now + lookEveryMs
    this.#isHinted = true
    this.#postgres.hint(lane, tag)
    this.#relay.hint(lane, tag)
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async stop(): Promise<void> {
    await this.#reader.stop()
    await this.#changed
    await this.#relay.stop()
  }

  /** Messages that were told and not tried come again, to this node or another. */
  #readerChanged(): void {
    if (!this.#reader.isReading()) this.#told.clear()
    this.#options.onAway(this.#reader.hasFailed())
    const epoch = this.#reader.relayEpoch
    this.#changed = this.#changed.then(() => this.#relay.relays(epoch))
  }
}
