import { type Static, Type } from 'typebox'
import { executionStates, origins, priorities } from '../words.ts'
import { closed, Instant, Json, Labels, Name, Nullable, plainText, Uuid, Word } from './scalars.ts'

export const ExecutionError = Type.Object(
  { name: Type.String(), message: Type.String(), stack: Type.Optional(Type.String()) },
  { title: 'ExecutionError' },
)

export const TimelineEntry = Type.Object(
  {
    at: Instant,
    to: Type.String({ description: 'The state it went to, or HANDED_BACK.' }),
    actor: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
    attempt: Type.Optional(Type.Integer()),
    fence: Type.Optional(Type.Integer()),
    workerId: Type.Optional(Type.String()),
    startedAt: Type.Optional(Instant),
    error: Type.Optional(ExecutionError),
  },
  { ...closed, title: 'TimelineEntry' },
)

export const Execution = Type.Object(
  {
    executionId: Uuid,
    jobId: Uuid,
    jobVersion: Nullable(Type.Integer()),
    dagRunId: Nullable(Uuid),
    name: Nullable(Type.String()),
    tenant: Type.String(),
    pool: Type.String(),
    priority: Word(priorities),
    handler: Type.String(),
    origin: Word(origins),
    scheduledFor: Instant,
    dueAt: Instant,
    firedAt: Instant,
    startedAt: Nullable(Instant),
    finishedAt: Nullable(Instant),
    durationMs: Nullable(Type.Number()),
    latenessMs: Nullable(
      Type.Number({
        description: 'From dueAt to the start of the first attempt; retries and replays do not change it.',
      }),
    ),
    state: Word(executionStates),
    reason: Nullable(Type.String()),
    attempt: Type.Integer(),
    maxAttempts: Type.Integer(),
    workerId: Nullable(Type.String()),
    fence: Nullable(Type.Integer()),
    payload: Json,
    progress: Json,
    result: Json,
    error: Nullable(ExecutionError),
    labels: Type.Record(Type.String(), Type.String()),
    traceId: Nullable(Type.String()),
    skippedCount: Nullable(
      Type.Integer({
        description: 'A SKIPPED row may stand for several occurrences in a row, skipped for one reason.',
      }),
    ),
    attempts: Type.Array(TimelineEntry, { description: 'Attempts that did not succeed, oldest first.' }),
    timeline: Type.Array(TimelineEntry),
  },
  { ...closed, title: 'Execution' },
)
export type Execution = Static<typeof Execution>

const nameRules = { minLength: 1, maxLength: 200, ...plainText }

/** Which executions: every field that is given must match. Without an id or a key, a time range keeps it quick. */
export const executionFilterFields = {
  state: Type.Optional(Word(executionStates)),
  jobId: Type.Optional(Uuid),
  key: Type.Optional(Type.String({ ...nameRules, description: 'The key of their job, if that is still there.' })),
  handler: Type.Optional(Name),
  pool: Type.Optional(Name),
  origin: Type.Optional(Word(origins)),
  error: Type.Optional(Type.String({ ...nameRules, description: 'The name of the last error.' })),
  from: Type.Optional(Instant),
  to: Type.Optional(Instant),
}

export const ExecutionFilter = Type.Object(
  {
    ...executionFilterFields,
    labels: Type.Optional(Labels),
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
    state: Word(executionStates),
    summary: Type.String({ description: 'The answer in one sentence.' }),
    reasons: Type.Array(
      Type.Object(
        {
          code: Type.String({ examples: ['POOL_PAUSED', 'NO_LIVE_WORKER', 'LEASED'] }),
          message: Type.String(),
          hint: Type.Optional(Type.String()),
        },
        closed,
      ),
      { description: 'What stands in the way, the first thing first.' },
    ),
  },
  { ...closed, title: 'Explanation' },
)
export type Explanation = Static<typeof Explanation>

export const LogLines = Type.Object(
  { executionId: Uuid, lines: Type.Array(Type.String()) },
  { ...closed, title: 'LogLines' },
)
