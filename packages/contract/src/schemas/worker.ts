/** The worker protocol. All times here are milliseconds since 1970. */
import { type Static, type TProperties, Type } from 'typebox'
import { failedStepStates, workerStates } from '../words.ts'
import { closed, Described, Instant, Json, Name, Nullable, Text, Uuid, Word } from './scalars.ts'

const Millis = Type.Number({ minimum: 0, maximum: 253_402_300_800_000, description: 'Milliseconds since 1970.' })
const Fence = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The number of the lease, as it was given out.',
})

export const PoolRegistration = Type.Object(
  {
    pool: Described(Name, 'The name of the pool.'),
    handlers: Type.Array(Name, { maxItems: 10_000, description: 'Handlers the worker has there.' }),
    slots: Type.Integer({ minimum: 0, maximum: 100_000, description: 'How many executions it runs there at once.' }),
  },
  { ...closed, title: 'PoolRegistration', description: 'What a worker does in one pool.' },
)
export type PoolRegistration = Static<typeof PoolRegistration>

export const WorkerRegistration = Type.Object(
  {
    workerId: Type.Optional(Described(Uuid, 'Its id from before, to keep it; left out: a new one.')),
    name: Described(Name, 'For people, such as the name of its host.'),
    pools: Type.Array(PoolRegistration, { minItems: 1, maxItems: 100, description: 'The pools it serves.' }),
  },
  { ...closed, title: 'WorkerRegistration', description: 'A worker as it introduces itself.' },
)
export type WorkerRegistration = Static<typeof WorkerRegistration>

export const RegistrationAnswer = Type.Object(
  {
    workerId: Described(Uuid, 'Its id, for all further requests.'),
    heartbeatEveryMs: Type.Integer({ description: 'How often to report what is held, in milliseconds.' }),
    suspectAfterMs: Type.Integer({ description: 'After this many milliseconds of silence it gets no new leases.' }),
    lostAfterMs: Type.Integer({
      description: 'After this many milliseconds of silence what it holds is taken from it.',
    }),
    logEveryMs: Type.Optional(
      Type.Integer({
        description: 'How often to send new log lines in `lines`, in milliseconds. Left out: only with the outcome.',
      }),
    ),
    serverTime: Described(Millis, 'The clock of the node, in milliseconds since 1970.'),
  },
  { ...closed, title: 'RegistrationAnswer', description: 'The rules a worker keeps to.' },
)
export type RegistrationAnswer = Static<typeof RegistrationAnswer>

export const LeaseInput = Type.Object(
  {
    pool: Described(Name, 'The pool to lease from.'),
    slots: Type.Integer({
      minimum: 0,
      maximum: 10_000,
      description: 'Executions that can start at once. 0 waits for cancellations only.',
    }),
    prefetch: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 10_000, default: 0, description: 'How many more to lease and hold ready.' }),
    ),
    waitMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60_000,
        default: 20_000,
        description: 'How many milliseconds to wait if there is nothing.',
      }),
    ),
  },
  { ...closed, title: 'LeaseInput', description: 'What a worker can take.' },
)
export type LeaseInput = Static<typeof LeaseInput>

export const LeasedStep = Type.Object(
  {
    runId: Described(Uuid, 'The run of a graph that it belongs to.'),
    step: Text('Which step of the graph it is.'),
    itemIndex: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'It runs for an item of a list: the place of that, from 0. Left out: it does not.',
      }),
    ),
    payload: Described(Json, 'What the run was given, as it was written; null if nothing.'),
    results: Type.Record(Type.String(), Json, {
      description: 'Of every step it depends on: the result as it was written; null if it has none.',
    }),
    states: Type.Optional(
      Type.Record(Type.String(), Word(failedStepStates, { description: 'How it ended.' }), {
        description: 'Of the steps it depends on, those that did not succeed. Left out: all SUCCEEDED.',
      }),
    ),
  },
  { ...closed, title: 'LeasedStep', description: 'What a step of a graph is given beside its own payload.' },
)
export type LeasedStep = Static<typeof LeasedStep>

export const LeasedExecution = Type.Object(
  {
    executionId: Uuid,
    jobId: Described(Uuid, 'Its job; of a submission, its own id.'),
    tenant: Text('The tenant it belongs to.'),
    pool: Text('The pool it was leased from.'),
    handler: Text('The handler to run.'),
    attempt: Type.Integer({ description: 'Which attempt this is; 1 is the first.' }),
    maxAttempts: Type.Integer({ description: 'Attempts in all that its retry policy allows.' }),
    fence: Fence,
    scheduledFor: Described(Millis, 'Its nominal time, in milliseconds since 1970.'),
    dueAt: Described(Millis, 'When it was to run, in milliseconds since 1970.'),
    timeoutSec: Type.Number({ description: 'How many seconds this attempt may run.' }),
    deadlineAt: Nullable(
      Type.Number({ description: 'When all attempts end, in milliseconds since 1970; null without a deadline.' }),
    ),
    heartbeatTimeoutSec: Nullable(
      Type.Integer({ description: 'Without progress for this many seconds the attempt is TIMED_OUT.' }),
    ),
    cancelGraceSec: Type.Integer({ description: 'Seconds a handler has to end after its abort.' }),
    announceStart: Type.Boolean({
      description: 'AT_MOST_ONCE: name it in `began` and wait for ACCEPTED before the handler begins.',
    }),
    payload: Described(Json, 'For the handler, as it was written.'),
    lastProgress: Described(Json, 'The progress that an earlier attempt reported last; null if none.'),
    labels: Type.Record(Type.String(), Type.String(), { description: 'Inherited from its job.' }),
    traceparent: Nullable(Text('W3C trace context of the program that created it.')),
    target: Described(Json, 'Settings of a built-in target; null for a handler of a worker.'),
    dag: Type.Optional(
      Nullable(
        Described(LeasedStep, 'If it is a step of a graph; otherwise null, and left out by nodes without graphs.'),
      ),
    ),
  },
  { ...closed, title: 'LeasedExecution', description: 'An execution that this worker holds from now on.' },
)
export type LeasedExecution = Static<typeof LeasedExecution>

const held = { executionId: Uuid, fence: Fence }
export const HeldExecution = Type.Object(held, {
  ...closed,
  title: 'HeldExecution',
  description: 'One lease: an execution and the number of its lease.',
})
export type HeldExecution = Static<typeof HeldExecution>

export const Cancellation = Type.Object(
  { ...held, reason: Word(['CANCELLED', 'TIMED_OUT', 'LEASE_LOST'], { description: 'Why it is to stop.' }) },
  { ...closed, title: 'Cancellation', description: 'An execution that this worker must stop.' },
)
export type Cancellation = Static<typeof Cancellation>

export const LeaseAnswer = Type.Object(
  {
    executions: Type.Array(LeasedExecution, { description: 'To run.' }),
    cancellations: Type.Array(Cancellation, { description: 'To stop.' }),
    serverTime: Described(Millis, 'The clock of the node, in milliseconds since 1970.'),
  },
  { ...closed, title: 'LeaseAnswer', description: 'What there is for a worker to do.' },
)
export type LeaseAnswer = Static<typeof LeaseAnswer>

const ReportedError = Type.Object(
  {
    name: Text('The name of the error; `nonRetryableErrors` compares it.'),
    message: Text('What went wrong.'),
    stack: Type.Optional(Text('Where in the handler.')),
  },
  { ...closed, title: 'ReportedError', description: 'The error of a handler. Longer than 16 KiB in all, it is cut.' },
)
export type ReportedError = Static<typeof ReportedError>

const ended = {
  ...held,
  startedAt: Type.Optional(
    Nullable(Described(Millis, 'When the handler began, in milliseconds since 1970; null if it did not.')),
  ),
  finishedAt: Type.Optional(Described(Millis, 'When the handler ended, in milliseconds since 1970. Left out: now.')),
  log: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'All lines of the handler, also those that were sent in `lines`. Of more than 1,000, or 64 KiB, the rest is cut.',
    }),
  ),
}
const progress = Type.Optional(Described(Json, 'The progress last reported, for the next attempt.'))
const retryAfterMs = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 366 * 86_400_000,
    description: 'Milliseconds until the next attempt, instead of what the retry policy says.',
  }),
)
const permanent = Type.Optional(
  Type.Boolean({ description: 'True: no further attempt, whatever the retry policy says.' }),
)

const outcomeWords = {
  SUCCEEDED: 'The handler returned.',
  FAILED: 'The handler threw; the retry policy decides what follows.',
  TIMED_OUT: 'The worker ended it: it ran for too long.',
  CANCELLED: 'The worker aborted it as requested.',
  HANDED_BACK: 'The worker does not finish it; another one may.',
  COMPLETED_IN_TRANSACTION: 'The handler completed it in a database transaction of its own.',
  DEFERRED: 'An external system reports its outcome, with a completion token.',
} as const

function outcome<T extends keyof typeof outcomeWords, P extends TProperties>(word: T, properties: P) {
  return Type.Object(
    {
      outcome: Type.Unsafe<T>({ type: 'string', const: word, description: 'How it ended.' }),
      ...ended,
      ...properties,
    },
    { ...closed, title: `Outcome${word}`, description: outcomeWords[word] },
  )
}

export const handBackReasons = ['SHUTDOWN', 'UNKNOWN_HANDLER', 'NOT_STARTED'] as const

const outcomes = [
  outcome('SUCCEEDED', {
    result: Type.Optional(
      Described(Json, 'What the handler returned: any JSON value, at most 256 KiB and 96 levels deep.'),
    ),
  }),
  outcome('FAILED', { error: ReportedError, retryAfterMs, permanent, progress }),
  outcome('TIMED_OUT', { error: Type.Optional(ReportedError), progress }),
  outcome('CANCELLED', { error: Type.Optional(ReportedError) }),
  outcome('HANDED_BACK', {
    reason: Type.Optional(Word(handBackReasons, { default: 'SHUTDOWN', description: 'Why.' })),
    progress,
  }),
  outcome('COMPLETED_IN_TRANSACTION', {}),
  outcome('DEFERRED', {}),
]
export type OutcomeInput = Static<(typeof outcomes)[number]>

/** How one execution ended, by its word. */
export const OutcomeInput = Type.Unsafe<OutcomeInput>({
  title: 'Outcome',
  description: 'How one execution ended, by its word.',
  type: 'object',
  discriminator: { propertyName: 'outcome' },
  required: ['outcome'],
  oneOf: outcomes,
})

const ReportedLines = Type.Object(
  {
    ...held,
    from: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'How many lines the handler logged under this fence before these.',
    }),
    lines: Type.Array(
      Type.Object(
        {
          at: Type.Optional(Described(Millis, 'When it was logged, in milliseconds since 1970. Left out: now.')),
          text: Type.String({ pattern: '^[^\\n]*$', description: 'One line, without a line feed.' }),
        },
        { ...closed, title: 'ReportedLine', description: 'A line that a handler logged.' },
      ),
      { minItems: 1, maxItems: 1_001, description: 'Oldest first.' },
    ),
  },
  { ...closed, title: 'ReportedLines', description: 'What the handler of an execution that goes on has logged.' },
)

export const ReportInput = Type.Object(
  {
    outcomes: Type.Optional(Type.Array(OutcomeInput, { maxItems: 10_000, description: 'Executions that ended.' })),
    began: Type.Optional(
      Type.Array(HeldExecution, {
        maxItems: 10_000,
        description: 'Executions with `announceStart` whose handler is about to begin.',
      }),
    ),
    progress: Type.Optional(
      Type.Array(
        Type.Object(
          { ...held, progress: Described(Json, 'Any JSON value, at most 64 KiB and 96 levels deep.') },
          { ...closed, title: 'Progress', description: 'How far an execution has come.' },
        ),
        { maxItems: 10_000, description: 'Progress of executions that go on.' },
      ),
    ),
    lines: Type.Optional(
      Type.Array(ReportedLines, { maxItems: 10_000, description: 'New log lines of executions that go on.' }),
    ),
    held: Type.Optional(
      Nullable(
        Type.Array(HeldExecution, {
          maxItems: 100_000,
          description: 'Everything the worker holds. Left out or null: not compared.',
        }),
      ),
    ),
  },
  { ...closed, title: 'ReportInput', description: 'What a worker has to say; empty, it is a sign of life.' },
)
export type ReportInput = Static<typeof ReportInput>

const Verdict = Word(['ACCEPTED', 'REFUSED', 'BUSY'], {
  description: 'REFUSED: the lease belongs to another attempt. BUSY: report it again.',
})
export type ReportVerdict = Static<typeof Verdict>

export const ReportAnswer = Type.Object(
  {
    serverTime: Described(Millis, 'The clock of the node, in milliseconds since 1970.'),
    outcomes: Type.Array(Verdict, { description: 'In the order of the outcomes.' }),
    began: Type.Array(Verdict, { description: 'In the order of `began`.' }),
    lines: Type.Optional(
      Type.Array(Nullable(Type.Integer()), {
        description:
          'In the order of `lines`: how many lines the installation has under that fence; go on from there. Null: not taken ' +
          'now (the lease is lost or busy, or the worker has sent too much); they come with the outcome, or again.',
      }),
    ),
    cancellations: Type.Array(Cancellation, { description: 'Executions to stop.' }),
    lost: Type.Array(HeldExecution, { description: 'Not this worker’s any more: stop them.' }),
    tooLarge: Type.Optional(
      Type.Array(HeldExecution, {
        description: 'Their progress has more than 64 KiB, or is nested too deep, and was left out.',
      }),
    ),
  },
  { ...closed, title: 'ReportAnswer', description: 'What became of a report.' },
)
export type ReportAnswer = Static<typeof ReportAnswer>

export const Worker = Type.Object(
  {
    workerId: Uuid,
    name: Text('For people, such as the name of its host.'),
    tenant: Nullable(Text('The tenant it works for; null: the installation.')),
    state: Word(workerStates, { description: 'SUSPECT: silent for a while, it gets nothing new.' }),
    pools: Type.Array(PoolRegistration, { description: 'The pools it serves.' }),
    running: Type.Integer({ description: 'Executions it holds.' }),
    nodeId: Described(Uuid, 'The node it last spoke to.'),
    registeredAt: Described(Instant, 'When it registered.'),
    seenAt: Described(Instant, 'Its last heartbeat.'),
  },
  { ...closed, title: 'Worker', description: 'A worker that is registered.' },
)
export type Worker = Static<typeof Worker>

export const WorkerDetail = Type.Object(
  {
    ...Worker.properties,
    held: Type.Array(
      Type.Object(
        {
          executionId: Uuid,
          name: Nullable(Text('The name of its job or submission.')),
          handler: Text('The handler.'),
          pool: Text('The pool it was leased from.'),
          attempt: Type.Integer({ description: 'Which attempt this is.' }),
          began: Type.Boolean({ description: 'False: taken ahead of a free slot.' }),
          leasedAt: Described(Instant, 'Since when the worker holds it.'),
        },
        closed,
      ),
      { description: 'What it holds of the tenant, the newest lease first.' },
    ),
    complete: Type.Boolean({ description: 'False: it holds more of the tenant than is listed.' }),
  },
  { ...closed, title: 'WorkerDetail', description: 'A worker, and what it holds.' },
)
export type WorkerDetail = Static<typeof WorkerDetail>

/** What an outside service that answered 202 reports later, with its bound token. */
export const CompletionInput = Type.Object(
  {
    outcome: Word(['SUCCEEDED', 'FAILED'], { description: 'How it ended.' }),
    result: Type.Optional(Described(Json, 'SUCCEEDED: any JSON value, at most 256 KiB and 96 levels deep.')),
    error: Type.Optional(Described(ReportedError, 'FAILED: what went wrong.')),
    retryAfterMs,
    permanent,
  },
  { ...closed, title: 'CompletionInput', description: 'How an execution ended that a service outside ran.' },
)
export type CompletionInput = Static<typeof CompletionInput>
