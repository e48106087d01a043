/** What travels between a worker and a node. All times here are milliseconds since 1970: programs speak to programs. */
import { type Static, Type } from 'typebox'
import { workerStates } from '../words.ts'
import { closed, Instant, Json, Name, Nullable, Uuid, Word } from './scalars.ts'

const Millis = Type.Number({ minimum: 0, maximum: 253_402_300_800_000, description: 'Milliseconds since 1970.' })
const Fence = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const PoolAnnouncement = Type.Object(
  {
    pool: Name,
    handlers: Type.Array(Name, { maxItems: 10_000 }),
    slots: Type.Integer({ minimum: 0, maximum: 100_000 }),
  },
  { ...closed, title: 'PoolAnnouncement' },
)

export const WorkerAnnouncement = Type.Object(
  {
    workerId: Type.Optional(Uuid),
    name: Name,
    pools: Type.Array(PoolAnnouncement, { minItems: 1, maxItems: 100 }),
  },
  { ...closed, title: 'WorkerAnnouncement' },
)

export const WorkerWelcome = Type.Object(
  {
    workerId: Uuid,
    heartbeatEveryMs: Type.Integer({ description: 'How often to report what is held.' }),
    suspectAfterMs: Type.Integer({ description: 'Silent for so long: no new leases.' }),
    lostAfterMs: Type.Integer({ description: 'Silent for so long: what it holds is taken from it.' }),
    serverTime: Millis,
  },
  { ...closed, title: 'WorkerWelcome' },
)
export type WorkerWelcome = Static<typeof WorkerWelcome>

export const LeaseInput = Type.Object(
  {
    pool: Name,
    slots: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      description: 'Executions that can start at once. 0 waits for cancellations only.',
    }),
    prefetch: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 10_000, default: 0, description: 'Taken beyond that, to be held ready.' }),
    ),
    waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000, default: 20_000 })),
  },
  { ...closed, title: 'LeaseInput' },
)

export const LeasedExecution = Type.Object(
  {
    executionId: Uuid,
    jobId: Uuid,
    tenant: Type.String(),
    pool: Type.String(),
    handler: Type.String(),
    attempt: Type.Integer({ description: '1 for the first try.' }),
    maxAttempts: Type.Integer(),
    fence: Fence,
    scheduledFor: Millis,
    dueAt: Millis,
    timeoutSec: Type.Number(),
    deadlineAt: Nullable(Type.Number({ description: 'End of all attempts, if there is a deadline.' })),
    heartbeatTimeoutSec: Nullable(Type.Integer()),
    cancelGraceSec: Type.Integer(),
    announceStart: Type.Boolean({
      description: 'AT_MOST_ONCE: name it in `began` and wait for ACCEPTED before the handler begins.',
    }),
    payload: Json,
    lastProgress: Json,
    labels: Type.Record(Type.String(), Type.String()),
    traceparent: Nullable(Type.String()),
    target: Json,
  },
  { ...closed, title: 'LeasedExecution' },
)
export type LeasedExecution = Static<typeof LeasedExecution>

const held = { executionId: Uuid, fence: Fence }
export const HeldExecution = Type.Object(held, { ...closed, title: 'HeldExecution' })
export type HeldExecution = Static<typeof HeldExecution>

export const Cancellation = Type.Object(
  { ...held, reason: Word(['CANCELLED', 'TIMED_OUT', 'LEASE_LOST']) },
  { ...closed, title: 'Cancellation' },
)
export type Cancellation = Static<typeof Cancellation>

export const LeaseAnswer = Type.Object(
  { executions: Type.Array(LeasedExecution), cancellations: Type.Array(Cancellation), serverTime: Millis },
  { ...closed, title: 'LeaseAnswer' },
)

const ReportedError = Type.Object(
  {
    name: Type.String(),
    message: Type.String(),
    stack: Type.Optional(Type.String()),
  },
  { ...closed, title: 'ReportedError', description: 'Longer than 16 KiB in all, it is cut.' },
)

const ended = {
  ...held,
  startedAt: Type.Optional(Nullable(Millis)),
  finishedAt: Type.Optional(Millis),
  log: Type.Optional(
    Type.Array(Type.String(), { description: 'Lines of the handler. Of more than 1,000, or 64 KiB, the rest is cut.' }),
  ),
}
const progress = Type.Optional(Json)

function outcome<T extends string, P extends Record<string, ReturnType<typeof Type.Optional> | typeof ReportedError>>(
  word: T,
  properties: P,
) {
  return Type.Object(
    { outcome: Type.Unsafe<T>({ type: 'string', const: word }), ...ended, ...properties },
    { ...closed, title: `Outcome${word}` },
  )
}

export const handBackReasons = ['SHUTDOWN', 'UNKNOWN_HANDLER', 'NOT_STARTED'] as const

/** How one execution ended, by its word. */
export const OutcomeInput = Type.Unsafe<Record<string, unknown>>({
  title: 'Outcome',
  type: 'object',
  discriminator: { propertyName: 'outcome' },
  required: ['outcome'],
  oneOf: [
    outcome('SUCCEEDED', { result: Type.Optional(Json) }),
    outcome('FAILED', {
      error: ReportedError,
      retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 366 * 86_400_000 })),
      neverAgain: Type.Optional(Type.Boolean()),
      progress,
    }),
    outcome('TIMED_OUT', { error: Type.Optional(ReportedError), progress }),
    outcome('CANCELLED', { error: Type.Optional(ReportedError) }),
    outcome('HANDED_BACK', { reason: Type.Optional(Word(handBackReasons)), progress }),
    outcome('COMPLETED_IN_TRANSACTION', {}),
    outcome('DEFERRED', {}),
  ],
})

export const ReportInput = Type.Object(
  {
    outcomes: Type.Optional(Type.Array(OutcomeInput, { maxItems: 10_000 })),
    began: Type.Optional(Type.Array(HeldExecution, { maxItems: 10_000 })),
    progress: Type.Optional(
      Type.Array(Type.Object({ ...held, progress: Json }, { ...closed, title: 'Progress' }), { maxItems: 10_000 }),
    ),
    held: Type.Optional(Nullable(Type.Array(HeldExecution, { maxItems: 100_000 }))),
  },
  { ...closed, title: 'ReportInput' },
)

const Verdict = Word(['ACCEPTED', 'REFUSED', 'BUSY'])

export const ReportAnswer = Type.Object(
  {
    serverTime: Millis,
    outcomes: Type.Array(Verdict, { description: 'In the order of the outcomes. BUSY: report it again.' }),
    began: Type.Array(Verdict),
    cancellations: Type.Array(Cancellation),
    lost: Type.Array(HeldExecution, { description: 'Not this worker’s any more: stop them.' }),
    tooLarge: Type.Optional(
      Type.Array(HeldExecution, {
        description: 'Their progress has more than 64 KiB, or is nested too deep, and was left out.',
      }),
    ),
  },
  { ...closed, title: 'ReportAnswer' },
)

export const Worker = Type.Object(
  {
    workerId: Uuid,
    name: Type.String(),
    tenant: Nullable(Type.String()),
    state: Word(workerStates),
    pools: Type.Array(PoolAnnouncement),
    running: Type.Integer(),
    nodeId: Uuid,
    registeredAt: Instant,
    seenAt: Instant,
  },
  { ...closed, title: 'Worker' },
)
export type Worker = Static<typeof Worker>

/** What an outside service that answered 202 reports later, with its bound token. */
export const CompletionInput = Type.Object(
  {
    outcome: Word(['SUCCEEDED', 'FAILED']),
    result: Type.Optional(Json),
    error: Type.Optional(ReportedError),
    retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 366 * 86_400_000 })),
    neverAgain: Type.Optional(Type.Boolean()),
  },
  { ...closed, title: 'CompletionInput' },
)
export type CompletionInput = Static<typeof CompletionInput>
