/** Events about jobs and executions. */
import { type Static, Type } from 'typebox'
import { eventTypes, jobStates, origins } from '../words.ts'
import { ExecutionError } from './execution.ts'
import { closed, Described, Instant, Json, Text, Uuid, Word } from './scalars.ts'

const text = (description: string) => Type.Optional(Text(description))
const count = (description: string) => Type.Optional(Type.Integer({ description }))
const instant = (description: string) => Type.Optional(Described(Instant, description))

export const EventDetail = Type.Object(
  {
    name: text('The name of the job.'),
    key: text('The key of the job.'),
    state: Type.Optional(Word(jobStates, { description: 'The state of the job.' })),
    version: count('The version of the job.'),
    nextFireAt: instant('When the job is due next.'),
    actor: text('The caller who did it, if a caller did.'),
    reason: text('Why, as a stable word.'),
    handler: text('The handler of the execution.'),
    pool: text('The pool of the execution.'),
    origin: Type.Optional(Word(origins, { description: 'What made the execution.' })),
    scheduledFor: instant('The nominal time of the execution.'),
    dueAt: instant('When the execution was to run.'),
    count: count('Occurrences in a row that were skipped for one reason; of a run, its steps.'),
    attempt: count('Which attempt; 1 is the first.'),
    workerId: text('The worker that holds or held it.'),
    startedAt: instant('When the attempt started.'),
    durationMs: Type.Optional(Type.Number({ description: 'How many milliseconds the attempt took.' })),
    outcome: text('How the attempt ended: SUCCEEDED, FAILED, TIMED_OUT, WORKER_LOST, HANDED_BACK, …'),
    error: Type.Optional(ExecutionError),
    retryAt: instant('When the next attempt is due.'),
    progress: Type.Optional(Described(Json, 'How far the handler has come. Left out if it is larger than 4 KiB.')),
  },
  { ...closed, title: 'EventDetail', description: 'More about the event; which fields there are depends on its type.' },
)
export type EventDetail = Static<typeof EventDetail>

export const Event = Type.Object(
  {
    eventId: Type.Integer({ description: 'Grows; the order of the stream.' }),
    type: Word(eventTypes, { description: 'What happened.' }),
    at: Described(Instant, 'When.'),
    tenant: Text('To which tenant.'),
    jobId: Type.String({
      format: 'uuid',
      description: 'Of a submission: the id of its execution; of a run of a graph and of its steps: the id of the run.',
    }),
    executionId: Type.Optional(Described(Uuid, 'The execution, if it is about one.')),
    detail: EventDetail,
  },
  { ...closed, title: 'Event', description: 'Something that happened to a job or an execution.' },
)
export type Event = Static<typeof Event>

/** Events before this one may be missing: a consumer that keeps a copy must read it again. */
export const EventReset = Type.Object(
  {
    eventId: Type.Integer({ description: 'From here on nothing is missing.' }),
    type: Word(['reset'], { description: 'Always `reset`.' }),
    at: Described(Instant, 'When the stream restarted.'),
    tenant: Text('To which tenant the stream belongs.'),
  },
  { ...closed, title: 'EventReset', description: 'Events before this one may be missing: read the lists anew.' },
)
export type EventReset = Static<typeof EventReset>
