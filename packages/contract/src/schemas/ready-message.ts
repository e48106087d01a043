/**
 * What a message of a topic of ready executions says: that an execution became ready, and where its row is. It carries no payload,
 * and it is a hint: the execution may have been leased or cancelled since.
 */
import { type Static, Type } from 'typebox'
import { priorities, readyMessageVersion } from '../words.ts'
import { closed, Described, Instant, Text, Uuid, Word } from './scalars.ts'

export const ReadyMessage = Type.Object(
  {
    version: Type.Literal(readyMessageVersion, { description: 'Of this schema.' }),
    executionId: Described(Uuid, 'The execution.'),
    jobId: Described(Uuid, 'Its job; also the key of the message.'),
    tenant: Text('The owner.'),
    pool: Text('The pool, as the queue tables call it: a tenant’s own pool has the tenant and U+001F before its name.'),
    lane: Word(priorities, { description: 'The priority.' }),
    tag: Type.Integer({ minimum: 0, description: 'Its place in the lane: smaller ones are leased first.' }),
    scheduledFor: Described(Instant, 'The nominal time.'),
    epoch: Type.Integer({ description: 'The generation of the consumer group in which it was published.' }),
  },
  {
    ...closed,
    title: 'ReadyMessage',
    description: 'An execution became ready. The header traceparent has its trace, if it has one.',
  },
)
export type ReadyMessage = Static<typeof ReadyMessage>
