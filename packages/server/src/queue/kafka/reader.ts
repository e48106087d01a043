/**
 * Reads the topics of one pool, as a member of its consumer group.
 *
 * Model. A reader is open or closed. It opens when it is wanted, closes when it has not been wanted for a while, so that a node without
 * workers for a pool does not read its topics, and closes when anything fails; then it opens again after a pause. Opening
 * creates topics that are missing. A topic that was deleted or has got more partitions makes it open anew.
 *
 * Trust window. An open reader may have been cut off without knowing: if nothing was answered for `silentMs` it counts as failed.
 *
 * What must stay true: offsets are committed only up to the first message that is not settled.
 */
import { type ReadyMessage, readyMessageVersion } from '@carillon/contract'
import { Backoff } from '@carillon/contract/process'
import { closed, within } from '../../kafka/client.ts'
import type { KafkaCluster } from '../../kafka/cluster.ts'
import type { WantedTopic } from '../../kafka/topics.ts'
import { monotonicMs } from '../../lib/clock.ts'
import type { Logger } from '../../observability/logger.ts'
import { type MessagePlace, partitionKey } from './told.ts'
import { topicConfig } from './topics.ts'

const tickMs = 500
const fetchWaitMs = 500
const silentMs = 3_000
const idleMs = 10_000
const partitionsEveryMs = 5_000
/** To join the group waits for the other members. */
const joinMs = 20_000
const commitMs = 3_000
const tellAfter = 4

export interface ReaderOptions {
  cluster: KafkaCluster
  groupId: string
  /** By lane. */
  topics: readonly string[]
  logger: Logger
  onMessage(message: ReadyMessage, place: MessagePlace): void
  /** It has opened, closed, or been given other partitions. */
  onChange(): void
  /** By topic and partition, the first message that is not settled. */
  unsettled(): Map<string, bigint>
}

interface Open {
  consumer: ReturnType<KafkaCluster['createConsumer']>
  stream: Awaited<ReturnType<ReturnType<KafkaCluster['createConsumer']>['consume']>>
  partitions: Map<string, number>
  heardAt: number
  partitionsAt: number
  paused: boolean
  /** By topic and partition: after the last message that came, and what was committed. */
  received: Map<string, { place: MessagePlace; leaderEpoch: number; committed: bigint }>
}

export class TopicReader {
  readonly #options: ReaderOptions
  readonly #wanted: WantedTopic[]
  readonly #backoff = new Backoff({ initialMs: 100, maxMs: 5_000 })
  #open: Open | null = null
  #changing: Promise<void> | null = null
  #wantedAt = Number.NEGATIVE_INFINITY
  #notBefore = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | null = null
  #stopped = false
  /** Away, rather than not yet there. */
  #failed = false
  /** Since it was open. */
  #failures = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#wanted = options.topics.map((name) => ({ name, partitions: null, config: topicConfig }))
  }

  /** Some worker of this node waits for executions of the pool. */
  want(): void {
    this.#wantedAt = monotonicMs()
    if (this.#stopped || this.#timer !== null) return
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#tick()
  }

  /** Whether messages of some partitions come to this node. */
  isReading(): boolean {
    return this.#open !== null && this.#assigned(this.#open) > 0
  }

  hasFailed(): boolean {
    return this.#failed
  }

  /** The generation of the group, if this member holds the first partition of the first topic: one member does. Else null. */
  get relayEpoch(): number | null {
    if (this.#open === null) return null
    const { assignments, generationId } = this.#open.consumer
    const first = assignments?.find(({ topic }) => topic === this.#options.topics[0])
    return first?.partitions.includes(0) ? generationId : null
  }

  pause(): void {
    if (this.#open === null || this.#open.paused) return
    this.#open.paused = true
    this.#open.stream.pause()
  }

  resume(): void {
    if (this.#open === null || !this.#open.paused) return
    this.#open.paused = false
    this.#open.heardAt = monotonicMs()
    this.#open.stream.resume()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#changing
    await this.#close()
  }

  #tick(): void {
    if (this.#changing) return
    const now = monotonicMs()
    const wanted = now - this.#wantedAt < idleMs
    if (this.#open === null) {
      if (wanted && now >= this.#notBefore) this.#change(() => this.#openNow())
      else if (!wanted && this.#timer !== null) {
        clearInterval(this.#timer)
        this.#timer = null
        // What is not wanted is not away.
        this.#failed = false
        this.#options.onChange()
      }
      return
    }
    if (!wanted) this.#change(() => this.#close())
    else if (!this.#open.paused && this.#assigned(this.#open) > 0 && now - this.#open.heardAt > silentMs)
      this.#fail(new Error(`Kafka has not answered for ${silentMs} ms`))
    else this.#change(() => this.#look(now))
  }

  #change(work: () => Promise<void>): void {
    this.#changing = work()
      .catch((error: unknown) => this.#failNow(error))
      .finally(() => {
        this.#changing = null
      })
  }

  async #openNow(): Promise<void> {
    const { cluster, groupId, topics } = this.#options
    const partitions = await cluster.ensureTopics(this.#wanted)
    const consumer = cluster.createConsumer(groupId)
    // What happens while it opens is thrown by `consume`.
    consumer.on('error', (error) => this.#open?.consumer === consumer && this.#fail(error))
    let stream: Open['stream']
    try {
      const consuming = consumer.consume({
        ...{ topics: [...topics], mode: 'committed', fallbackMode: 'earliest', autocommit: false },
        ...{ maxWaitTime: fetchWaitMs, minBytes: 1, highWaterMark: 1_024 },
      })
      stream = await within(consuming, joinMs)
    } catch (error) {
      await closed(consumer.close(true))
      throw error
    }
    const now = monotonicMs()
    const open: Open = {
      ...{ consumer, stream, partitions, heardAt: now, partitionsAt: now, paused: false, received: new Map() },
    }
    this.#open = open
    const isCurrent = () => this.#open === open
    stream.on('error', (error) => isCurrent() && this.#fail(error))
    stream.on('fetch', () => {
      open.heardAt = monotonicMs()
    })
    consumer.on('consumer:heartbeat:end', () => {
      if (this.#assigned(open) === 0) open.heardAt = monotonicMs()
    })
    consumer.on('consumer:group:join', () => isCurrent() && this.#options.onChange())
    stream.on('data', (message) => {
      if (!isCurrent()) return
      const place = { topic: message.topic, partition: message.partition, offset: message.offset }
      const received = open.received.get(partitionKey(place))
      if (received) received.place = place
      else
        open.received.set(partitionKey(place), { place, leaderEpoch: message.leaderEpoch, committed: message.offset })
      const text = messageOf(message.value as Buffer)
      if (text !== null) this.#options.onMessage(text, place)
    })
    this.#backoff.reset()
    if (this.#failures >= tellAfter) this.#options.logger.info({ groupId }, 'the topics of a pool are read again')
    this.#failures = 0
    this.#failed = false
    this.#options.logger.debug({ groupId }, 'reading the topics of a pool')
    this.#options.onChange()
  }

  #fail(error: unknown): void {
    if (this.#changing) void this.#changing.then(() => this.#fail(error))
    else if (this.#open !== null) this.#change(() => this.#failNow(error))
  }

  async #failNow(error: unknown): Promise<void> {
    const retryInMs = this.#backoff.nextMs()
    const { logger, groupId } = this.#options
    // Once, and not for a first try: Kafka answers the first ones while it makes the topic of its groups.
    this.#failures++
    const tells = !this.#stopped && (this.#open !== null || this.#failures === tellAfter)
    const reason = error instanceof Error ? error.message : String(error)
    logger[tells ? 'warn' : 'debug'](
      { reason, groupId, retryInMs },
      'the topics of a pool cannot be read; PostgreSQL is read instead',
    )
    this.#failed = true
    this.#notBefore = monotonicMs() + retryInMs
    await this.#close()
  }

  async #close(): Promise<void> {
    const open = this.#open
    if (open === null) return
    if (!this.#failed) await this.#commit(open).catch(() => {})
    this.#open = null
    this.#options.onChange()
    await closed(open.consumer.close(true))
  }

  async #look(now: number): Promise<void> {
    const open = this.#open!
    await this.#commit(open)
    if (now - open.partitionsAt < partitionsEveryMs) return
    open.partitionsAt = now
    const partitions = await this.#options.cluster.ensureTopics(this.#wanted)
    if (![...partitions].every(([topic, count]) => open.partitions.get(topic) === count)) await this.#close()
  }

  async #commit({ consumer, received }: Open): Promise<void> {
    const unsettled = this.#options.unsettled()
    const offsets = []
    for (const [key, each] of received) {
      const offset = unsettled.get(key) ?? each.place.offset + 1n
      if (offset <= each.committed) continue
      offsets.push({ topic: each.place.topic, partition: each.place.partition, offset, leaderEpoch: each.leaderEpoch })
      each.committed = offset
    }
    if (offsets.length > 0) await within(consumer.commit({ offsets }), commitMs)
  }

  #assigned({ consumer }: Open): number {
    return consumer.assignments?.reduce((sum, { partitions }) => sum + partitions.length, 0) ?? 0
  }
}

/** Null: it is none of ours, or of a version that this node does not know; its row is found otherwise. */
function messageOf(value: Buffer): ReadyMessage | null {
  try {
    const message: ReadyMessage = JSON.parse(value.toString())
    return message.version === readyMessageVersion ? message : null
  } catch {
    return null
  }
}
