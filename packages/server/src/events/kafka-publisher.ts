/** Publishes events, dead letters and the audit to topics of Kafka: two subscriptions of one name, served by the leader of shard 0. */
import { type KafkaAddress, loadKafka } from '../kafka/client.ts'
import type { Leadership } from '../leadership/port.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { Deliverer } from './deliverer.ts'
import { AuditTopic, EventTopics } from './kafka-subscribers.ts'
import { auditSource, eventSource } from './subscription-source.ts'

export interface KafkaPublisherOptions {
  address: KafkaAddress
  database: Database
  isolation: Isolation
  leadership: Leadership
  nodeName: string
  logger: Logger
  onAway: (away: boolean) => void
  onPublished: (topic: string, count: number) => void
}

/** The name of the subscriptions. */
export const kafkaSubscription = 'kafka'

export class KafkaPublisher implements Service {
  readonly #deliverers: Service[]

  constructor(options: KafkaPublisherOptions) {
    const { address, database, isolation, leadership, nodeName, logger, onPublished } = options
    const away = new Set<string>()
    const shared = { name: kafkaSubscription, types: null, database, leadership, nodeName, logger }
    const onAway = (source: string) => (isAway: boolean) => {
      if (isAway) away.add(source)
      else away.delete(source)
      options.onAway(away.size > 0)
    }
    const kafka = { address, clientId: `carillon ${nodeName}`, logger, onPublished }
    this.#deliverers = [
      new Deliverer({
        ...shared,
        ...{ source: eventSource(database, isolation), onAway: onAway('events') },
        subscriber: new EventTopics(kafka),
      }),
      new Deliverer({
        ...shared,
        ...{ source: auditSource(database), onAway: onAway('audit') },
        subscriber: new AuditTopic(kafka),
      }),
    ]
  }

  /** Does not wait for Kafka. */
  async start(): Promise<void> {
    await loadKafka()
    for (const deliverer of this.#deliverers) await deliverer.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.stop()))
  }
}
