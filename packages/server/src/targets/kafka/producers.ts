/**
 * Producers of one cluster, each idempotent and with acks from all replicas. What must stay true: a producer has one message under
 * way. Its sequence numbers are then never assigned while another message of the same producer is being given up, which could
 * make the broker take a new message for a duplicate; and closing it stops nothing but the message that was given up.
 */
import { type KafkaAddress, kafkaConnection, loadKafka, withLateErrors } from '../../kafka/client.ts'
import { unlessAborted } from '../../lib/unless-aborted.ts'

export interface KafkaMessage {
  topic: string
  key: string
  value: string
  headers: Record<string, string>
}

export interface Published {
  partition: number
  offset: number
}

/** The cluster has no such topic; the producer is as good as before. */
export class UnknownTopic extends Error {}

/** What we use of the package's producer. */
interface Producer {
  metadata(options: { topics: string[]; autocreateTopics: boolean }): Promise<{ topics: Map<string, unknown> }>
  send(options: { messages: KafkaMessage[] }): Promise<{ offsets?: { partition: number; offset: bigint }[] }>
  close(force: boolean): Promise<void>
}

/** More than 1: the package makes that "for ever" for an idempotent producer. The broker recognises a repeated message. */
const retries = 2
const retryDelayMs = 200
/** For connections to close when the node stops. */
const closeWithinMs = 2_000

export class Producers {
  readonly #create: () => Producer
  /** The one used last is used first: what a burst needed falls idle, and the broker closes its connection. */
  readonly #idle: Producer[] = []
  readonly #all = new Set<Producer>()

  private constructor(create: () => Producer) {
    this.#create = create
  }

  /** Connects to nothing yet. Throws CONFIG_INVALID if the package is missing. `withinMs`: for a message, with all tries. */
  static async open(
    address: KafkaAddress,
    { clientId, withinMs }: { clientId: string; withinMs: number },
  ): Promise<Producers> {
    const library = await loadKafka()
    const timeoutMs = Math.ceil(withinMs / (retries + 1))
    const connection = await kafkaConnection(address, { clientId, timeoutMs })
    const create = () =>
      new library.Producer({
        ...connection,
        ...{ idempotent: true, acks: library.ProduceAcks.ALL, retries, retryDelay: retryDelayMs },
        autocreateTopics: false,
        serializers: library.stringSerializers,
        // A key has the partition that it has with Java's producer.
        partitioner: library.compatibilityPartitioner,
      })
    return new Producers(() => withLateErrors(create()))
  }

  /** Given up when the signal says so: then the message may or may not have been written, and will not be later. */
  async publish(message: KafkaMessage, signal: AbortSignal): Promise<Published> {
    signal.throwIfAborted()
    const producer = this.#idle.pop() ?? this.#added()
    try {
      const published = await unlessAborted(publish(producer, message), signal)
      this.#idle.push(producer)
      return published
    } catch (error) {
      if (error instanceof UnknownTopic) this.#idle.push(producer)
      else void this.#close(producer)
      throw error
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#all].map((producer) => this.#close(producer)))
  }

  #added(): Producer {
    const producer = this.#create()
    this.#all.add(producer)
    return producer
  }

  /** A connection that cannot be closed in order is left to the operating system. */
  async #close(producer: Producer): Promise<void> {
    this.#all.delete(producer)
    await unlessAborted(producer.close(true), AbortSignal.timeout(closeWithinMs)).catch(() => {})
  }
}

async function publish(producer: Producer, message: KafkaMessage): Promise<Published> {
  const { topic } = message
  await requireTopic(producer, topic)
  const { offsets } = await producer.send({ messages: [message] })
  const { partition, offset } = offsets![0]!
  return { partition, offset: Number(offset) }
}

/** Asked first: the package answers a topic that is missing with an error of no kind, and one that is internal with a crash. */
async function requireTopic(producer: Producer, topic: string): Promise<void> {
  try {
    const { topics } = await producer.metadata({ topics: [topic], autocreateTopics: false })
    if (topics.get(topic) !== undefined) return
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'PLT_KFK_USER') throw error
  }
  throw new UnknownTopic(topic)
}
