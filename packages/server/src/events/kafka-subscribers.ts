/**
 * Kafka as a subscriber of events and of the audit: each row a message, keyed so that what belongs together is in one partition and so in
 * order. The messages are described in packages/contract/src/schemas/published.ts.
 */
import type { DeadLetterMessage, Event, PublishedGap } from '@carillon/contract'
import { publishedSchemaVersion, publishedTopics } from '@carillon/contract/api'
import type { KafkaAddress } from '../kafka/client.ts'
import { type TopicMessage, TopicWriter } from '../kafka/topic-writer.ts'
import type { Logger } from '../observability/logger.ts'
import type { AuditRecord } from '../store/audit/list.ts'
import type { LedgerFacts } from '../store/events/dead-letters.ts'
import type { Gap } from '../store/events/subscriptions.ts'
import type { Subscriber } from './deliverer.ts'
import type { SubscribedEvent } from './subscription-source.ts'
import { eventView } from './view.ts'

export interface KafkaSubscriberOptions {
  address: KafkaAddress
  clientId: string
  logger: Logger
  /** Messages that are safe in a topic. */
  onPublished: (topic: string, count: number) => void
}

const schemaVersion = String(publishedSchemaVersion)

abstract class KafkaSubscriber<Row> implements Subscriber<Row> {
  readonly #options: KafkaSubscriberOptions
  readonly #writer: TopicWriter
  readonly #topics: string[]

  constructor(options: KafkaSubscriberOptions, topics: Record<string, { partitions: number | null }>) {
    const { address, clientId, logger } = options
    this.#options = options
    const named = Object.entries(topics).map(([name, { partitions }]) => ({ name: this.topic(name), partitions }))
    this.#topics = named.map(({ name }) => name)
    this.#writer = new TopicWriter({ address, clientId, topics: named, logger })
  }

  protected abstract messagesOf(rows: Row[]): TopicMessage[]

  protected topic(name: string): string {
    return `${this.#options.address.prefix}.${name}`
  }

  async deliver(rows: Row[]): Promise<void> {
    await this.#write(this.messagesOf(rows))
  }

  /** To every partition: a consumer of any of them learns of it. */
  async deliverGap({ after, upTo }: Gap): Promise<void> {
    const gap: PublishedGap = { type: 'gap', after, upTo }
    const partitions = await this.#writer.partitions()
    const messages = this.#topics.flatMap((topic) =>
      Array.from({ length: partitions.get(topic)! }, (_, partition) => ({
        ...{ topic, partition, key: 'gap', value: JSON.stringify(gap), headers: { type: 'gap', schemaVersion } },
      })),
    )
    await this.#write(messages)
  }

  release(): void {
    this.#writer.close()
  }

  async #write(messages: TopicMessage[]): Promise<void> {
    await this.#writer.write(messages)
    for (const topic of this.#topics) {
      this.#options.onPublished(topic, messages.filter((message) => message.topic === topic).length)
    }
  }
}

/** Events to `events`; those of executions that died to `dead-letters` too. */
export class EventTopics extends KafkaSubscriber<SubscribedEvent> {
  constructor(options: KafkaSubscriberOptions) {
    super(options, {
      [publishedTopics.events]: { partitions: null },
      [publishedTopics.deadLetters]: { partitions: null },
    })
  }

  protected messagesOf(rows: SubscribedEvent[]): TopicMessage[] {
    return rows.flatMap((row) => {
      const event = eventView(row)
      const message = this.#message(publishedTopics.events, event, event)
      if (event.type !== 'execution.dead') return [message]
      return [message, this.#message(publishedTopics.deadLetters, event, deadLetterOf(event, row.ledger))]
    })
  }

  #message(name: string, event: Event, value: Event | DeadLetterMessage): TopicMessage {
    const { eventId, type, tenant, jobId } = event
    return {
      topic: this.topic(name),
      key: jobId ?? tenant,
      value: JSON.stringify(value),
      headers: { type, tenant, eventId: String(eventId), schemaVersion },
      ...('detail' in value && { shorter: JSON.stringify({ ...value, detail: {} }) }),
    }
  }
}

/** The audit, in one partition: its whole order stays. */
export class AuditTopic extends KafkaSubscriber<AuditRecord> {
  constructor(options: KafkaSubscriberOptions) {
    super(options, { [publishedTopics.audit]: { partitions: 1 } })
  }

  protected messagesOf(rows: AuditRecord[]): TopicMessage[] {
    return rows.map((row) => {
      const entry = { ...row, at: new Date(row.at).toISOString() }
      const { auditId, action, tenant } = row
      return {
        topic: this.topic(publishedTopics.audit),
        key: tenant ?? 'installation',
        value: JSON.stringify(entry),
        headers: { type: action, ...(tenant !== null && { tenant }), auditId: String(auditId), schemaVersion },
        shorter: JSON.stringify({ ...entry, detail: null }),
      }
    })
  }
}

/** How it ended is the event's: the ledger may know more by now, of a replay for instance. */
function deadLetterOf(event: Event, facts: LedgerFacts | null): DeadLetterMessage {
  const { eventId, at, tenant, jobId, executionId, detail } = event
  const { name, origin, labels, scheduledFor, dueAt } = facts ?? {}
  const handler = facts?.handler ?? detail.handler
  const pool = facts?.pool ?? detail.pool
  return {
    ...{ eventId, at, tenant, jobId, executionId: executionId ?? jobId },
    ...(name != null && { name }),
    ...(handler !== undefined && { handler }),
    ...(pool !== undefined && { pool }),
    ...(origin !== undefined && { origin }),
    ...(labels != null && { labels }),
    ...(scheduledFor !== undefined && { scheduledFor: new Date(scheduledFor).toISOString() }),
    ...(dueAt !== undefined && { dueAt: new Date(dueAt).toISOString() }),
    attempts: detail.attempt ?? 0,
    reason: detail.reason ?? null,
    outcome: detail.outcome ?? null,
    error: detail.error ?? null,
  }
}
