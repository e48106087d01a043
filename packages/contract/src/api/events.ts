import { Type } from 'typebox'
import { Event, EventReset } from '../schemas/event.ts'
import { closed, Described, JobReference, LastEventId, Word } from '../schemas/scalars.ts'
import { eventFilters } from '../words.ts'
import { operation } from './operation.ts'

export const eventOperations = {
  streamEvents: operation({
    method: 'GET',
    path: '/v1/events',
    tag: 'Events',
    scope: 'jobs:read',
    summary: 'What happens to jobs and executions, as server-sent events',
    description:
      '`id` is the event’s id, `event` its type, `data` one line of JSON. With `Last-Event-ID` the stream goes on after that ' +
      'event, at any node; what lies too far back is answered with an event of type `reset`: read the lists again. A comment ' +
      'and the latest id come every 15 seconds. Events are kept for 15 minutes, and written from when a listener connects until ' +
      'about five minutes after the last listener has gone.',
    query: Type.Object(
      {
        type: Type.Optional(
          Type.Array(Word(eventFilters), {
            maxItems: eventFilters.length,
            description: 'Only these; several may be given. `execution.*` is all about executions.',
            examples: [['execution.dead', 'job.*']],
          }),
        ),
        jobId: Type.Optional(Described(JobReference, 'Only about this job and its executions: id or key.')),
        waitSec: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 3_600,
            description: 'End the stream after this many seconds. Left out: never.',
          }),
        ),
      },
      closed,
    ),
    headers: Type.Object({
      'last-event-id': Type.Optional(LastEventId('The last `id` that came: up to 15 digits.', '1042')),
    }),
    answers: {
      200: {
        description: 'A stream; `data` of each event is an Event or an EventReset',
        mediaType: 'text/event-stream',
        schema: Type.Union([Event, EventReset]),
      },
    },
    errors: ['TOO_MANY_LISTENERS', 'QUOTA_EXCEEDED'],
  }),
}
