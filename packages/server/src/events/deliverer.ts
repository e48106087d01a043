/**
 * Serves one subscription: hands its rows to a subscriber in the order of their ids, a batch at a time, and stores the position in
 * PostgreSQL when the subscriber has them. One node does it at a time, the leader of shard 0.
 *
 * What must stay true: the position moves only over what was delivered (or dropped, and then there is a gap that the subscriber is
 * told), so every row is delivered at least once. Whichever node delivers, it begins at a position behind which everything is delivered and
 * leaves nothing out: of two that overlap after a change of leader, each row's first delivery comes after those of all rows before it.
 * A subscriber that is away costs one try each second or two, and nothing is kept in memory for it.
 */
import { Backoff } from '@carillon/contract/process'
import type { Leadership } from '../leadership/port.ts'
import { monotonicMs } from '../lib/clock.ts'
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import {
  beginSubscription,
  closeGap,
  type Gap,
  movePosition,
  type Standing,
  type SubscriptionKey,
  serveSubscription,
  subscribe,
} from '../store/events/subscriptions.ts'
import { settled } from './settled.ts'
import { SettledPosition } from './settled-position.ts'
import type { SubscriptionSource } from './subscription-source.ts'

const pollMs = 100
/** While it waits for a gap in the ids to close. */
const gapMs = 10
/** How often the node says that it serves the subscription, and looks whether it is still there. */
const serveEveryMs = 1_000
const mostAtOnce = 2_000

/** Both may be called again with the same after a failure, and by another node. */
export interface Subscriber<Row> {
  /** Resolves when the rows are safe at the subscriber. */
  deliver(rows: Row[]): Promise<void>
  /** Rows between these ids are gone. */
  deliverGap(gap: Gap): Promise<void>
  /** Another node serves the subscription, or this one stops: connections are closed. */
  release(): void
}

export interface DelivererOptions<Row> {
  name: string
  source: SubscriptionSource<Row>
  subscriber: Subscriber<Row>
  /** The types of rows that are wanted; null: all. */
  types: string[] | null
  database: Database
  leadership: Leadership
  nodeName: string
  logger: Logger
  /** The subscriber has failed, or is back. */
  onAway: (away: boolean) => void
}

export class Deliverer<Row> implements Service {
  readonly #options: DelivererOptions<Row>
  readonly #key: SubscriptionKey
  /** In the log. */
  readonly #named: Record<string, unknown>
  readonly #loop: Loop
  readonly #backoff = new Backoff({ initialMs: 100, maxMs: 2_000 })
  #settled: SettledPosition
  #standing: Standing | null = null
  #serveAt = 0
  #away = false
  #missing = false
  #unsubscribe = () => {}

  constructor(options: DelivererOptions<Row>) {
    const { name, source, logger } = options
    this.#options = options
    this.#key = { name, source: source.source }
    this.#named = { subscription: name, source: source.source }
    this.#settled = new SettledPosition(source)
    this.#loop = new Loop({
      ...{ name: `subscription ${name} to ${source.source}`, everyMs: 2_000, logger },
      runOnce: () => this.runOnce(),
    })
  }

  /** The subscription is there when this resolves: every change that begins later is delivered, at some time. */
  async start(): Promise<void> {
    const { database, types, source, nodeName, leadership } = this.#options
    const wanted = { ...this.#key, types, position: source.from, actor: `node:${nodeName}` }
    if ((await subscribe(database, wanted)) && source.from === null) await this.#begin()
    this.#unsubscribe = leadership.onChange(() => this.#loop.wake())
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    // What is under way fails at once, instead of being waited for.
    this.#options.subscriber.release()
    await this.#loop.stop()
    this.#rest()
    this.#options.subscriber.release()
  }

  async runOnce(): Promise<Again | undefined> {
    if (!this.#options.leadership.shards().some(({ shard }) => shard === 0)) return this.#rest()
    const standing = await this.#serve()
    if (standing === null) return undefined
    const { position, gap } = standing
    if (position === null) {
      await this.#begin()
      this.#serveAt = 0
      return { againInMs: 0 }
    }
    if (gap !== null) return this.#tellGap(gap)
    const ahead = await this.#settled.next(position, mostAtOnce)
    if (ahead === 'NOTHING') return { againInMs: pollMs }
    if (typeof ahead === 'string') return { againInMs: ahead === 'GAP' ? gapMs : pollMs }
    return this.#deliver(standing, { after: position, upTo: ahead.upTo })
  }

  async #deliver({ types }: Standing, range: { after: number; upTo: number }): Promise<Again> {
    const { source, subscriber, database } = this.#options
    const rows = await source.read(range)
    const wanted = types === null ? rows : rows.filter((row) => types.includes(source.typeOf(row)))
    if (wanted.length > 0 && !(await this.#reaches(() => subscriber.deliver(wanted)))) return this.#later()
    const moved = await movePosition(database, this.#key, range)
    if (moved === null) this.#forget()
    else this.#standing = moved
    return { againInMs: 0 }
  }

  async #tellGap(gap: Gap): Promise<Again> {
    const { subscriber, database, logger } = this.#options
    if (!(await this.#reaches(() => subscriber.deliverGap(gap)))) return this.#later()
    await closeGap(database, this.#key, gap)
    this.#serveAt = 0
    logger.warn({ ...this.#named, ...gap }, 'the subscriber was told that rows were dropped')
    return { againInMs: 0 }
  }

  /** Where the subscription stands; null: it was removed. */
  async #serve(): Promise<Standing | null> {
    const { database, nodeName, logger } = this.#options
    if (this.#standing !== null && monotonicMs() < this.#serveAt) return this.#standing
    const known = this.#standing?.position ?? null
    const standing = await serveSubscription(database, this.#key, nodeName)
    if (known !== null && (standing?.position ?? -1) < known) this.#forget()
    this.#standing = standing
    this.#serveAt = monotonicMs() + serveEveryMs
    if (standing === null && !this.#missing) {
      logger.warn(
        { ...this.#key },
        'the subscription was removed; a node that starts with the setting creates it again',
      )
    }
    this.#missing = standing === null
    return standing
  }

  /** The database has gone back to an earlier state, or the subscription was removed: ids may be given out again. */
  #forget(): void {
    this.#settled = new SettledPosition(this.#options.source)
    this.#standing = null
    this.#serveAt = 0
  }

  async #begin(): Promise<void> {
    const { database } = this.#options
    // Transactions under way may not know of the subscription yet.
    await settled(database)
    await beginSubscription(database, this.#key)
  }

  /** Trouble of the subscriber is no error: it is tried again. */
  async #reaches(call: () => Promise<void>): Promise<boolean> {
    const { logger, onAway } = this.#options
    try {
      await call()
    } catch (error) {
      if (!this.#away) {
        logger.warn(
          { err: error, ...this.#named },
          'the subscriber of a subscription is away; what is undelivered waits',
        )
      } else {
        logger.debug({ err: error, ...this.#named }, 'the subscriber of a subscription is still away')
      }
      this.#away = true
      onAway(true)
      return false
    }
    if (this.#away) logger.info(this.#named, 'the subscriber of a subscription is there')
    this.#away = false
    this.#backoff.reset()
    onAway(false)
    return true
  }

  #later(): Again {
    return { againInMs: this.#backoff.nextMs() }
  }

  /** Another node serves it. */
  #rest(): undefined {
    if (this.#standing === null && !this.#away) return
    this.#forget()
    this.#options.subscriber.release()
    this.#away = false
    this.#options.onAway(false)
  }
}
