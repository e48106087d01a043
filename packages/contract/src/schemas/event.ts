/** What is told about jobs and executions as it happens. */
import { type Static, Type } from 'typebox'
import { eventTypes, jobStates, origins } from '../words.ts'
import { ExecutionError } from './execution.ts'
import { closed, Instant, Uuid, Word } from './scalars.ts'

const optional = {
  text: Type.Optional(Type.String()),
  count: Type.Optional(Type.Integer()),
  instant: Type.Optional(Instant),
}

export const EventDetail = Type.Object(
  {
    name: optional.text,
    key: optional.text,
    state: Type.Optional(Word(jobStates, { description: 'Of the job.' })),
    version: optional.count,
    nextFireAt: optional.instant,
    actor: Type.Optional(Type.String({ description: 'Who did it, if somebody did.' })),
    reason: optional.text,
    handler: optional.text,
    pool: optional.text,
    origin: Type.Optional(Word(origins)),
    scheduledFor: optional.instant,
    dueAt: optional.instant,
    count: Type.Optional(Type.Integer({ description: 'Occurrences in a row that were skipped for one reason.' })),
    attempt: optional.count,
    workerId: optional.text,
    startedAt: optional.instant,
    durationMs: Type.Optional(Type.Number()),
    outcome: Type.Optional(
      Type.String({ description: 'How the attempt ended: SUCCEEDED, FAILED, TIMED_OUT, WORKER_LOST, HANDED_BACK, …' }),
    ),
    error: Type.Optional(ExecutionError),
    retryAt: optional.instant,
  },
  { ...closed, title: 'EventDetail', description: 'What is known, by type.' },
)
export type EventDetail = Static<typeof EventDetail>

export const Event = Type.Object(
  {
    eventId: Type.Integer({ description: 'Grows; the order of the stream.' }),
    type: Word(eventTypes),
    at: Instant,
    tenant: Type.String(),
    jobId: Type.String({ format: 'uuid', description: 'Of a submission: the id of its execution.' }),
    executionId: Type.Optional(Uuid),
    detail: EventDetail,
  },
  { ...closed, title: 'Event' },
)
export type Event = Static<typeof Event>

/** Events before this one may be missing: whoever keeps a copy of something reads it anew. */
export const EventReset = Type.Object(
  {
    eventId: Type.Integer({ description: 'From here on nothing is missing.' }),
    type: Word(['reset']),
    at: Instant,
    tenant: Type.String(),
  },
  { ...closed, title: 'EventReset' },
)
export type EventReset = Static<typeof EventReset>
