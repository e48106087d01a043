/**
 * Messages that are published to Kafka, one schema for each topic. The value of a message is JSON, its headers are texts:
 * `type`, `tenant` (not for the installation), `eventId` or `auditId`, `schemaVersion`.
 */
import { type Static, Type } from 'typebox'
import { origins } from '../words.ts'
import { AuditEntry } from './audit.ts'
import { Event } from './event.ts'
import { ExecutionError } from './execution.ts'
import { closed, Described, Instant, Labels, Nullable, Text, Uuid, Word } from './scalars.ts'

/** Raised when a consumer would have to change; a new optional field does not raise it. */
export const publishedSchemaVersion = 1

/** What the names of topics end with, after the prefix and a dot. */
export const publishedTopics = { events: 'events', deadLetters: 'dead-letters', audit: 'audit' } as const

/** Rows were dropped before they were published, because Kafka was away for too long. Written to every partition. */
export const PublishedGap = Type.Object(
  {
    type: Word(['gap'], { description: 'Always `gap`.' }),
    after: Type.Integer({ description: 'The last id before the gap.' }),
    upTo: Type.Integer({ description: 'The last id of the gap: between the two, messages may be missing.' }),
  },
  { ...closed, title: 'PublishedGap', description: 'Messages may be missing here: read the lists of the API.' },
)
export type PublishedGap = Static<typeof PublishedGap>

export const DeadLetterMessage = Type.Object(
  {
    eventId: Type.Integer({ description: 'Of the event `execution.dead`; grows.' }),
    at: Described(Instant, 'When it died.'),
    tenant: Text('To which tenant it belongs.'),
    jobId: Described(Uuid, 'Of a submission: the id of its execution.'),
    executionId: Described(Uuid, 'The execution.'),
    name: Type.Optional(Text('The name of the job.')),
    handler: Type.Optional(Text('The handler.')),
    pool: Type.Optional(Text('The pool.')),
    origin: Type.Optional(Word(origins, { description: 'What made the execution.' })),
    labels: Type.Optional(Labels),
    scheduledFor: Type.Optional(Described(Instant, 'Its nominal time.')),
    dueAt: Type.Optional(Described(Instant, 'When it was to run.')),
    attempts: Type.Integer({ description: 'Attempts that were made.' }),
    reason: Nullable(Text('Why, as a stable word.')),
    outcome: Nullable(Text('How the last attempt ended; null: it ended without one.')),
    error: Nullable(ExecutionError),
  },
  {
    ...closed,
    title: 'DeadLetterMessage',
    description: 'An execution that died. Its payload is not here: read the execution.',
  },
)
export type DeadLetterMessage = Static<typeof DeadLetterMessage>

/** Of each topic, what its messages are; the key decides the partition, and so what comes in order. */
export const published = {
  [publishedTopics.events]: { value: Type.Union([Event, PublishedGap]), key: 'jobId' },
  [publishedTopics.deadLetters]: { value: Type.Union([DeadLetterMessage, PublishedGap]), key: 'jobId' },
  [publishedTopics.audit]: { value: Type.Union([AuditEntry, PublishedGap]), key: 'tenant' },
} as const
