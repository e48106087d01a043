/**
 * Writes messages to topics of Kafka, in order: a call resolves when every replica in sync has its messages, and the next call is
 * made after that. A call that fails may have written some of them; the caller repeats all of them, so a message may come twice and what was
 * first written is in order. After a failure the connections are opened anew.
 *
 * Topics that are missing are created, also those that were deleted meanwhile. A client of the package may wait forever for a broker that died:
 * no call here takes longer than `answerMs` for each of its steps.
 *
 * Partitions are chosen by the key as Java's clients do, so other producers with the same keys agree.
 */
import type { Producer } from '@platformatic/kafka'
import type { Logger } from '../observability/logger.ts'
import { closed, type KafkaAddress, kafkaConnection, loadKafka, within, withLateErrors } from './client.ts'
import { ensureTopics, isKafkaError, type WantedTopic } from './topics.ts'

const answerMs = 5_000
/**
 * Of one request, for each partition up to so many: brokers take 1 MB for one partition by default. What is spread unevenly is halved
 * when they refuse it. [m] Three turns on a busy machine: 42-126 us a message in requests of 500 kB, 54-67 in those of 1.5 MB; the
 * gain is not certain.
 */
const partitionBytes = 500_000
const mostPartitions = 4
/** What a message takes besides those. */
const overheadBytes = 100

export interface TopicMessage {
  topic: string
  key: string
  value: string
  headers: Record<string, string>
  /** Chosen by the key unless given. */
  partition?: number
  /** Sent instead if the brokers find the message too large. */
  shorter?: string
}

export interface TopicWriterOptions {
  address: KafkaAddress
  clientId: string
  topics: WantedTopic[]
  logger: Logger
}

interface Open {
  kafka: Awaited<ReturnType<typeof loadKafka>>
  producer: Producer<string, string, string, string>
  partitions: Map<string, number>
}

export class TopicWriter {
  readonly #options: TopicWriterOptions
  #open: Open | null = null

  constructor(options: TopicWriterOptions) {
    this.#options = options
  }

  /** Rejects if Kafka is away or refuses: nothing is known of what was written. */
  async write(messages: readonly TopicMessage[]): Promise<void> {
    await this.#closingOnFailure(async () => {
      const open = await this.#connected()
      for (const part of inRequests(messages, requestBytes(open))) await this.#send(open, part)
    })
  }

  /** Of each topic, how many partitions it has. */
  async partitions(): Promise<ReadonlyMap<string, number>> {
    return this.#closingOnFailure(async () => (await this.#connected()).partitions)
  }

  /** May be used again afterwards. */
  close(): void {
    const producer = this.#open?.producer
    this.#open = null
    if (producer) void closed(producer.close(true))
  }

  async #closingOnFailure<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.close()
      throw error
    }
  }

  async #send(open: Open, part: readonly TopicMessage[]): Promise<void> {
    const messages = part.map(({ shorter: _, ...message }) => message)
    try {
      await within(open.producer.send({ messages }), answerMs, 'writing')
    } catch (error) {
      if (!isKafkaError(open.kafka, error, 'MESSAGE_TOO_LARGE')) throw error
      await this.#sendSmaller(open, part, error)
    }
  }

  async #sendSmaller(open: Open, part: readonly TopicMessage[], error: unknown): Promise<void> {
    if (part.length > 1) {
      const half = Math.ceil(part.length / 2)
      await this.#send(open, part.slice(0, half))
      await this.#send(open, part.slice(half))
      return
    }
    const { shorter, topic, key, headers, ...message } = part[0]!
    if (shorter === undefined) throw error
    this.#options.logger.error({ topic, key, headers }, 'a message is too large for Kafka: it is sent without details')
    await this.#send(open, [{ ...message, topic, key, headers: { ...headers, shortened: 'true' }, value: shorter }])
  }

  async #connected(): Promise<Open> {
    if (this.#open !== null) return this.#open
    const { address, clientId } = this.#options
    const kafka = await loadKafka()
    const connection = await kafkaConnection(address, { clientId, timeoutMs: answerMs })
    const { topics, logger } = this.#options
    const admin = withLateErrors(new kafka.Admin(connection))
    let partitions: Map<string, number>
    try {
      partitions = await ensureTopics(kafka, admin, { topics, replicas: address.replicas, logger })
    } finally {
      void closed(admin.close())
    }
    const producer = new kafka.Producer<string, string, string, string>({
      ...connection,
      ...{ idempotent: true, acks: kafka.ProduceAcks.ALL, autocreateTopics: false },
      serializers: kafka.stringSerializers,
      partitioner: (message, key) => kafka.compatibilityPartitioner(message as never, key),
    })
    this.#open = { kafka, producer: withLateErrors(producer), partitions }
    return this.#open
  }
}

/** Of keys, values and headers. */
function requestBytes({ partitions }: Open): number {
  return partitionBytes * Math.min(mostPartitions, ...partitions.values())
}

function* inRequests(messages: readonly TopicMessage[], mostBytes: number): Generator<TopicMessage[]> {
  let part: TopicMessage[] = []
  let bytes = 0
  for (const message of messages) {
    const size = Buffer.byteLength(message.value) + Buffer.byteLength(message.key) + overheadBytes
    if (part.length > 0 && bytes + size > mostBytes) {
      yield part
      part = []
      bytes = 0
    }
    part.push(message)
    bytes += size
  }
  if (part.length > 0) yield part
}
