/**
 * Publishes what is ready in a pool. `ready` is the outbox: nothing is marked in it, and nothing is published that is not committed.
 *
 * Model. One node relays a pool: the member of its consumer group that holds the first partition. Two may for a moment, after a
 * rebalance: then messages come twice, and the second finds no row. It publishes in the order of tags, and holds back what is more
 * than the nodes lease in about a second: backlog, order, fairness and limits stay in PostgreSQL.
 *
 * What may fail. A message may be lost: its row is published again after 30 s, or found before by a node that reads `ready`.
 *
 * What must stay true: what is in `ready` is published sooner or later, as long as others are leased.
 */
import { priorities, type ReadyMessage, readyMessageVersion } from '@carillon/contract'
import type { KafkaCluster, KafkaMessage } from '../../kafka/cluster.ts'
import { type Clock, monotonicMs } from '../../lib/clock.ts'
import { isoTime } from '../../lib/iso-time.ts'
import { type Again, Loop } from '../../lib/loop.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Database } from '../../store/database.ts'
import { type ReadyRow, readReady, readStillReady } from '../../store/executions/read-ready.ts'
import { ReadyPosition } from '../ready-position.ts'
import type { RelayFigures } from './figures.ts'

const pollMs = 1_000
/** While as much is under way as may be, how long to wait before looking what was leased of it: longer, while it is little. */
const leastFullMs = 20
const mostFullMs = 500
/** After a run, hints wait for this long: what comes together is read, published and leased together. */
const pauseMs = 10
const checkEveryMs = 1_000
const publishAgainMs = 30_000
const mostPerRead = 1_000
/** What may be under way: what was leased in the last second, within these. */
const leastUnderWay = 500
const mostUnderWay = 10_000

export interface RelayOptions {
  database: Database
  cluster: KafkaCluster
  clock: Clock
  pool: string
  /** By lane. */
  topics: readonly string[]
  logger: Logger
  figures: RelayFigures
}

interface Published {
  lane: number
  tag: number
  executionId: string
  at: number
  row: ReadyRow
}

export class Relay {
  readonly #options: RelayOptions
  readonly #loop: Loop
  readonly #positions = priorities.map(() => new ReadyPosition())
  readonly #hinted = new Set<number>()
  /** By execution. */
  readonly #underWay = new Map<string, Published>()
  #mayBeUnderWay = leastUnderWay
  #checkedAt = Number.NEGATIVE_INFINITY
  #polledAt = Number.NEGATIVE_INFINITY
  #fullMs = leastFullMs
  #epoch: number | null = null
  #ranAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | null = null

  constructor(options: RelayOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: `relay of ${options.pool}`,
      everyMs: pollMs,
      logger: options.logger,
      runOnce: () => this.runOnce(),
    })
  }

  /** Null: this node does not relay the pool. */
  async relays(epoch: number | null): Promise<void> {
    const before = this.#epoch
    this.#epoch = epoch
    if (epoch !== null && before === null) await this.#loop.start()
    if (epoch === null && before !== null) await this.stop()
  }

  async stop(): Promise<void> {
    this.#epoch = null
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    await this.#loop.stop()
    this.#underWay.clear()
    this.#options.figures.underWay(0)
  }

  hint(lane: number, tag: number): void {
    if (this.#epoch === null) return
    this.#positions[lane]?.lower(tag)
    this.#hinted.add(lane)
    this.#timer ??= setTimeout(
      () => {
        this.#timer = null
        this.#loop.wake()
      },
      Math.max(0, this.#ranAt + pauseMs - monotonicMs()),
    )
  }

  async runOnce(): Promise<Again | undefined> {
    this.#ranAt = monotonicMs()
    const now = this.#options.clock.now()
    const polls = now - this.#polledAt >= pollMs
    if (polls) this.#polledAt = now
    const lanes = priorities.map((_, lane) => lane).filter((lane) => polls || this.#hinted.has(lane))
    this.#hinted.clear()
    const late = now - this.#checkedAt >= checkEveryMs ? await this.#check(now) : []
    const found: Published[] = []
    let full = false
    for (const lane of lanes) {
      if (this.#underWay.size >= this.#mayBeUnderWay && now - this.#checkedAt >= this.#fullMs)
        late.push(...(await this.#check(now)))
      const room = Math.min(this.#mayBeUnderWay - this.#underWay.size - found.length, mostPerRead)
      const read = room > 0 ? await this.#readNew(lane, room, now) : []
      found.push(...read)
      if (room <= 0) full = true
      // There may be more of this lane.
      if (read.length >= room) this.#hinted.add(lane)
    }
    await this.#publish(found, late)
    if (this.#hinted.size > 0) return { againInMs: full ? this.#fullMs : 0 }
    return undefined
  }

  async #publish(found: Published[], late: Published[]): Promise<void> {
    const { cluster, figures } = this.#options
    const messages = [...found, ...late]
    try {
      await cluster.send(messages.map((each) => this.#messageOf(each)))
    } catch (error) {
      for (const { lane, tag } of found) this.#positions[lane]!.lower(tag)
      throw error
    }
    for (const each of messages) this.#underWay.set(each.executionId, each)
    figures.published(found.length, late.length)
    figures.underWay(this.#underWay.size)
  }

  async #readNew(lane: number, room: number, now: number): Promise<Published[]> {
    const { database, pool } = this.#options
    const position = this.#positions[lane]!
    const from = position.from(now)
    const known = [...this.#underWay.values()].filter((each) => each.lane === lane && each.tag >= from).length
    const rows = await readReady(database, { pool, lane, from, limit: room + known })
    const last = rows.at(-1)
    if (last) position.reached(last.tag, now)
    return rows
      .filter(({ executionId, tag }) => this.#underWay.get(executionId)?.tag !== tag)
      .map((row) => ({ lane, tag: row.tag, executionId: row.executionId, at: now, row }))
  }

  /** Forgets what has left `ready`, and answers what has been there for too long. */
  async #check(now: number): Promise<Published[]> {
    const { database, pool } = this.#options
    const published = [...this.#underWay.values()]
    const still = await readStillReady(database, pool, published)
    const late: Published[] = []
    for (const each of published) {
      if (!still.has(each.executionId)) this.#underWay.delete(each.executionId)
      else if (now - each.at >= publishAgainMs) late.push({ ...each, at: now })
    }
    const gone = published.length - still.size
    this.#fullMs = gone * 4 < published.length ? Math.min(this.#fullMs * 2, mostFullMs) : leastFullMs
    const passedMs = Math.max(now - this.#checkedAt, 1)
    const perSecond = (gone * 1_000) / Math.min(passedMs, checkEveryMs)
    if (published.length > 0)
      this.#mayBeUnderWay = Math.round(Math.min(Math.max(perSecond, leastUnderWay), mostUnderWay))
    this.#checkedAt = now
    return late
  }

  #messageOf({ lane, row }: Published): KafkaMessage {
    const { pool, topics } = this.#options
    const { executionId, jobId, tenant, tag, traceparent } = row
    const message: ReadyMessage = {
      ...{ version: readyMessageVersion, executionId, jobId, tenant, pool, lane: priorities[lane]!, tag },
      ...{ scheduledFor: isoTime(row.scheduledFor), epoch: this.#epoch ?? -1 },
    }
    return {
      ...{ topic: topics[lane]!, key: jobId, value: JSON.stringify(message) },
      ...(traceparent !== null && { headers: { traceparent } }),
    }
  }
}
