/**
 * A Kafka cluster as one node uses it: a producer and an administrator that are made when they are needed and thrown away when they
 * fail, and consumers for those that read.
 *
 * What may fail: everything, for as long as the cluster is away; nothing is tried again here and nothing is kept to be sent later.
 * What must stay true: no call waits for longer than `callMs`, whatever the package does.
 */
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import {
  closed,
  type KafkaAddress,
  type KafkaConnectionOptions,
  kafkaConnection,
  loadKafka,
  within,
  withLateErrors,
} from './client.ts'
import { ensureTopics, type WantedTopic } from './topics.ts'

type Library = Awaited<ReturnType<typeof loadKafka>>

const timeoutMs = 2_000
/** Of one call, whatever it takes. */
const callMs = 5_000
/** After so much silence a member of a group loses its partitions. Kafka allows no less unless told to. */
const sessionTimeout = 6_000
/** How soon partitions that were added are used. */
const metadataMaxAge = 5_000

export interface KafkaMessage {
  topic: string
  key: string
  value: string
  headers?: Record<string, string>
}

export interface KafkaClusterOptions {
  address: KafkaAddress
  clientId: string
  logger: Logger
}

export class KafkaCluster implements Service {
  readonly #options: KafkaClusterOptions
  #library: Library | null = null
  #connection: KafkaConnectionOptions | null = null
  #producer: ReturnType<typeof createProducer> | null = null
  #admin: InstanceType<Library['Admin']> | null = null
  #ensuring: Promise<unknown> = Promise.resolve()

  constructor(options: KafkaClusterOptions) {
    this.#options = options
  }

  get prefix(): string {
    return this.#options.address.prefix
  }

  /** Does not connect: that happens with the first call. */
  async start(): Promise<void> {
    this.#library = await loadKafka()
    const { address, clientId } = this.#options
    this.#connection = await kafkaConnection(address, { clientId, timeoutMs })
  }

  async stop(): Promise<void> {
    await Promise.all([this.#dropProducer(), this.#dropAdmin()])
  }

  /** Resolves when the leaders of their partitions have them. The messages of one key stay in order. */
  async send(messages: KafkaMessage[]): Promise<void> {
    if (messages.length === 0) return
    this.#producer ??= createProducer(this.#library!, this.#connection!)
    try {
      await within(this.#producer.send({ messages, acks: this.#library!.ProduceAcks.LEADER }), callMs)
    } catch (error) {
      await this.#dropProducer()
      throw error
    }
  }

  /** Creates what is missing of these topics; answers how many partitions each has. */
  ensureTopics(topics: readonly WantedTopic[]): Promise<Map<string, number>> {
    // One after the other: the package gives concurrent questions one answer.
    const ensured = this.#ensuring.then(() => this.#ensureTopics(topics))
    this.#ensuring = ensured.catch(() => {})
    return ensured
  }

  async #ensureTopics(topics: readonly WantedTopic[]): Promise<Map<string, number>> {
    const { address, logger } = this.#options
    try {
      return await ensureTopics(this.#library!, this.#administrator(), { topics, replicas: address.replicas, logger })
    } catch (error) {
      await this.#dropAdmin()
      throw error
    }
  }

  async countBrokers(): Promise<number> {
    const metadata = await within(this.#administrator().metadata({ topics: [], forceUpdate: true }), callMs)
    return metadata.brokers.size
  }

  /** A consumer in a group, not joined. */
  createConsumer(groupId: string): InstanceType<Library['Consumer']> {
    const consumer: InstanceType<Library['Consumer']> = new this.#library!.Consumer({
      ...this.#connection!,
      groupId,
      ...{ sessionTimeout, rebalanceTimeout: sessionTimeout, heartbeatInterval: sessionTimeout / 4 },
      // To join waits for members that are gone without a word. One that gave up sooner would be the next such member.
      ...{ requestTimeout: sessionTimeout * 2, timeout: sessionTimeout * 2 },
      metadataMaxAge,
    })
    return withLateErrors(consumer)
  }

  #administrator(): InstanceType<Library['Admin']> {
    if (this.#admin === null) {
      this.#admin = withLateErrors(new this.#library!.Admin(this.#connection!))
      this.#admin.on('error', () => {})
    }
    return this.#admin
  }

  async #dropProducer(): Promise<void> {
    const producer = this.#producer
    this.#producer = null
    if (producer) await closed(producer.close(true))
  }

  async #dropAdmin(): Promise<void> {
    const admin = this.#admin
    this.#admin = null
    if (admin) await closed(admin.close())
  }
}

function createProducer(library: Library, connection: KafkaConnectionOptions) {
  const producer = new library.Producer({
    ...connection,
    serializers: library.stringSerializers,
    autocreateTopics: false,
    metadataMaxAge,
  })
  producer.on('error', () => {})
  return withLateErrors(producer)
}
