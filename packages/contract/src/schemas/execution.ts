import { type Static, Type } from 'typebox'
import { executionStates, origins, priorities } from '../words.ts'
import {
  closed,
  Described,
  Instant,
  JobReference,
  Json,
  Labels,
  Name,
  Nullable,
  plainText,
  Text,
  Uuid,
  Word,
} from './scalars.ts'

export const ExecutionError = Type.Object(
  {
    name: Text('The name of the error; `nonRetryableErrors` and filters compare it.'),
    message: Text('What went wrong.'),
    stack: Type.Optional(Text('Where in the handler, if the worker sent it.')),
  },
  { title: 'ExecutionError', description: 'The error an attempt ended with.' },
)

export const TimelineEntry = Type.Object(
  {
    at: Described(Instant, 'When it happened.'),
    to: Text('The state it went to, or HANDED_BACK.'),
    actor: Type.Optional(Text('The caller who did it, if a caller did.')),
    reason: Type.Optional(Text('Why, as a stable word.', { examples: ['OVERLAP'] })),
    attempt: Type.Optional(Type.Integer({ description: 'Which attempt; 1 is the first.' })),
    fence: Type.Optional(Type.Integer({ description: 'The number of its lease.' })),
    workerId: Type.Optional(Text('The worker that held it.')),
    startedAt: Type.Optional(Described(Instant, 'When that attempt started.')),
    error: Type.Optional(ExecutionError),
    after: Type.Optional(Described(Uuid, 'The execution that it follows, of a job of type AFTER.')),
  },
  { ...closed, title: 'TimelineEntry', description: 'One step in the life of an execution.' },
)
export type TimelineEntry = Static<typeof TimelineEntry>

export const Execution = Type.Object(
  {
    executionId: Uuid,
    jobId: Described(Uuid, 'Its job; of a submission, its own id; of a step, its run.'),
    jobVersion: Nullable(Type.Integer({ description: 'The version of the job when it fired; null for a submission.' })),
    dagRunId: Nullable(Described(Uuid, 'The run of a graph it belongs to, if any.')),
    name: Nullable(Text('The name of its job.')),
    tenant: Text('The tenant it belongs to.'),
    pool: Text('The pool whose workers run it.'),
    priority: Word(priorities, {
      description: 'The lane of the pool the execution waits in: a higher one is served first.',
    }),
    handler: Text('The handler that runs it.'),
    origin: Word(origins, { description: 'What made it: its schedule, a trigger, a backfill, a submission, a graph.' }),
    scheduledFor: Described(Instant, 'Its nominal time.'),
    dueAt: Described(Instant, 'When it was to run: the nominal time and its jitter.'),
    firedAt: Described(Instant, 'When its row was written.'),
    startedAt: Nullable(Described(Instant, 'When its latest attempt started.')),
    finishedAt: Nullable(Described(Instant, 'When it reached its final state.')),
    durationMs: Nullable(Type.Number({ description: 'Milliseconds from `startedAt` to `finishedAt`.' })),
    latenessMs: Nullable(
      Type.Number({
        description:
          'Milliseconds from `dueAt` to the start of the first attempt; retries and replays do not change it.',
      }),
    ),
    state: Word(executionStates, { description: 'Its state.' }),
    reason: Nullable(Text('Why it is in this state, as a stable word.', { examples: ['ATTEMPTS_USED_UP'] })),
    attempt: Type.Integer({ description: 'Attempts so far; 0 before the first.' }),
    limits: Type.Array(Type.String(), { description: 'Limits that count it, as they were asked for.' }),
    maxAttempts: Type.Integer({ description: 'Attempts in all that its retry policy allows.' }),
    workerId: Nullable(Text('The worker that holds it, or held it last.')),
    fence: Nullable(Type.Integer({ description: 'The number of its latest lease; a higher one takes it over.' })),
    payload: Described(Json, 'What the handler was given, as it was written.'),
    progress: Described(Json, 'The progress its handler last reported; null if none.'),
    result: Described(Json, 'What its handler returned, as it was written; null until it SUCCEEDED.'),
    error: Nullable(Described(ExecutionError, 'The error its latest attempt ended with.')),
    labels: Type.Record(Type.String(), Type.String(), { description: 'Inherited from its job.' }),
    traceId: Nullable(Text('The trace it belongs to, from its `traceparent`.')),
    skippedCount: Nullable(
      Type.Integer({
        description: 'A SKIPPED row may cover several occurrences in a row, skipped for one reason.',
      }),
    ),
    attempts: Type.Array(TimelineEntry, { description: 'Attempts that did not succeed, oldest first.' }),
    timeline: Type.Array(TimelineEntry, { description: 'Everything that happened to it, oldest first.' }),
  },
  { ...closed, title: 'Execution', description: 'One run of a job, or of a submission.' },
)
export type Execution = Static<typeof Execution>

const nameRules = { minLength: 1, maxLength: 200, ...plainText }

/** Which executions: every field that is given must match. Without an id or a key, a time range keeps it quick. */
export const executionFilterFields = {
  state: Type.Optional(Word(executionStates, { description: 'Only in this state.' })),
  jobId: Type.Optional(Described(JobReference, 'Only of this job: id or key.')),
  key: Type.Optional(Type.String({ ...nameRules, description: 'The key of their job, if that is still there.' })),
  handler: Type.Optional(Described(Name, 'Only of this handler.')),
  pool: Type.Optional(Described(Name, 'Only of this pool.')),
  origin: Type.Optional(Word(origins, { description: 'Only made this way.' })),
  error: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: '^[^\\u0000]*$',
      format: 'well-formed',
      description:
        'The name of the last error, of a longer one its first 200 characters; empty: only without an error.',
    }),
  ),
  reason: Type.Optional(Type.String({ ...nameRules, description: 'Why they ended, or wait, as a stable word.' })),
  from: Type.Optional(Described(Instant, 'Only with a `scheduledFor` at or after this.')),
  to: Type.Optional(Described(Instant, 'Only with a `scheduledFor` before this.')),
}

export const ExecutionFilter = Type.Object(
  {
    ...executionFilterFields,
    labels: Type.Optional(Described(Labels, 'Only with all of these labels.')),
  },
  {
    ...closed,
    title: 'ExecutionFilter',
    description: '`from` and `to` are about `scheduledFor`; `to` is exclusive. Without them: the whole history.',
  },
)
export type ExecutionFilter = Static<typeof ExecutionFilter>

export const Explanation = Type.Object(
  {
    executionId: Uuid,
    state: Word(executionStates, { description: 'Its state.' }),
    summary: Type.String({ description: 'The answer in one sentence.' }),
    reasons: Type.Array(
      Type.Object(
        {
          code: Text('A stable word.', { examples: ['POOL_PAUSED', 'NO_LIVE_WORKER', 'LEASED'] }),
          message: Text('The same for people.'),
          hint: Type.Optional(Text('What to do about it.')),
        },
        closed,
      ),
      { description: 'What blocks it, the first thing first.' },
    ),
  },
  { ...closed, title: 'Explanation', description: 'Why an execution is not running.' },
)
export type Explanation = Static<typeof Explanation>

const logLine = {
  at: Described(Instant, 'When the handler logged it; of a line that came with the outcome, when the attempt ended.'),
  attempt: Type.Integer({ description: 'The attempt that logged it; 1 is the first.' }),
  text: Type.String({ description: 'The line.' }),
}
export const LogLine = Type.Object(logLine, {
  ...closed,
  title: 'LogLine',
  description: 'A line that a handler logged.',
})
export type LogLine = Static<typeof LogLine>

export const LogLines = Type.Object(
  {
    executionId: Uuid,
    lines: Type.Array(LogLine, { description: 'Oldest first.' }),
    dropped: Type.Integer({
      description: 'Lines before these that are not kept: of all attempts, the latest 256 KiB are.',
    }),
  },
  { ...closed, title: 'LogLines', description: 'What a handler logged, in all attempts.' },
)
export type LogLines = Static<typeof LogLines>

/** What a stream of log lines tells, in the form in which clients give it out. */
export type LogEvent =
  /** `position`: its number among all lines of the execution, for `after`. */
  | ({ type: 'line'; position: number } & LogLine)
  | { type: 'progress'; progress: unknown }
  /** The last one: the execution has ended. */
  | { type: 'end'; state: Execution['state'] }
