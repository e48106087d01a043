/** Jobs and submissions as they are asked for. Bounds come from ranges.ts, words from words.ts, defaults from defaults.ts. */
import { type Static, Type } from 'typebox'
import { defaults, limits } from '../defaults.ts'
import { ranges } from '../ranges.ts'
import {
  dayFieldPolicies,
  dedupeActions,
  dedupeStates,
  deliveries,
  dstGaps,
  dstOverlaps,
  executionStates,
  followedEnds,
  jitterSources,
  jobStates,
  jobTypes,
  misfirePolicies,
  overlapPolicies,
  priorities,
  type RetryPolicy as WholeRetryPolicy,
} from '../words.ts'
import { byType, type JobTypeFields } from './job-types.ts'
import { MergePatch } from './merge-patch.ts'
import { RetryPolicy } from './retry-policy.ts'
import {
  Amount,
  closed,
  Described,
  Instant,
  Integer,
  Json,
  Labels,
  Name,
  Nullable,
  plainText,
  ShownAs,
  Text,
  Traceparent,
  Uuid,
  Word,
} from './scalars.ts'
import { scheduleFields } from './schedule.ts'
import { Target } from './target.ts'

/** How executions are run: the same for jobs and for submissions. */
export const executionPolicy = {
  priority: Type.Optional(
    Word(priorities, {
      default: defaults.priority,
      description: 'The lane of the pool the execution waits in: a higher one is served first.',
    }),
  ),
  retryPolicy: Type.Optional(Described(RetryPolicy, 'How failed attempts are repeated; fields left out are defaults.')),
  timeoutSec: Type.Optional(
    Amount(ranges.timeoutSec, {
      default: defaults.timeoutSec,
      description: 'How many seconds one attempt may run; after that it is TIMED_OUT.',
    }),
  ),
  deadlineSec: Type.Optional(
    Integer(ranges.deadlineSec, { description: 'How many seconds all attempts together may take, from `firedAt` on.' }),
  ),
  heartbeatTimeoutSec: Type.Optional(
    Integer(ranges.heartbeatTimeoutSec, {
      description:
        'An attempt whose handler sends no progress for this many seconds is TIMED_OUT, even if its worker lives.',
    }),
  ),
  startWithinSec: Type.Optional(
    Integer(ranges.startWithinSec, {
      description: 'An execution that no worker leases within this many seconds after `dueAt` is SKIPPED (EXPIRED).',
    }),
  ),
  cancelGraceSec: Type.Optional(
    Integer(ranges.cancelGraceSec, {
      default: defaults.cancelGraceSec,
      description: 'Seconds between the abort of a running execution and the loss of its lease.',
    }),
  ),
  unknownHandlerSec: Type.Optional(
    Integer(ranges.unknownHandlerSec, {
      default: defaults.unknownHandlerSec,
      description: 'Seconds to wait for a worker that has the handler before the execution becomes DEAD.',
    }),
  ),
  delivery: Type.Optional(
    Word(deliveries, {
      default: defaults.delivery,
      description: 'AT_LEAST_ONCE repeats an attempt whose outcome is unknown; AT_MOST_ONCE never does.',
    }),
  ),
  limits: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: limits.limitLength, ...plainText }), {
      maxItems: limits.limitsNamed,
      description:
        'Limits that count the execution: a name, or `name:key`, in which `{payload.path.to.field}` stands for a field of the payload. ' +
        'It starts when all of them have room.',
      examples: [['acct:{payload.accountId}']],
    }),
  ),
  labels: Type.Optional(Labels),
  traceparent: Type.Optional(Traceparent),
}

export const Dedupe = Type.Object(
  {
    key: Described(Name, 'At most one submission holds this key.'),
    while: Type.Optional(
      Word(dedupeStates, {
        default: 'UNFINISHED',
        description: 'Until when another one with this key is a duplicate.',
      }),
    ),
    windowSec: Type.Optional(
      Integer(ranges.dedupeWindowSec, {
        description: 'Another one within this many seconds is a duplicate too, even after the first has ended.',
      }),
    ),
    onDuplicate: Type.Optional(
      Word(dedupeActions, {
        default: 'KEEP',
        description: 'Keep the first one, replace it while it has not started, or restart its delay.',
      }),
    ),
    maxWaitSec: Type.Optional(
      Integer(ranges.dedupeMaxWaitSec, {
        description: 'DEBOUNCE: it runs at the latest this many seconds after the first submission.',
      }),
    ),
  },
  {
    ...closed,
    title: 'Dedupe',
    description: 'For ONE_SHOT and DELAYED: at most one submission holds this key.',
  },
)

const fields = {
  name: Type.Optional(Described(Name, 'For people and lists. Left out: the key, or the handler.')),
  key: Type.Optional(
    Described(
      Name,
      'Names one job of the tenant for good: creating it again changes that job instead of making another.',
    ),
  ),
  managedBy: Type.Optional(
    Described(
      Name,
      'The tool or file that owns the job; `carillon apply --prune` deletes what its file no longer names.',
    ),
  ),
  ...scheduleFields,
  target: Target,
  payload: Type.Optional(
    Described(Json, 'Given to the handler as it was written: any JSON value, at most 256 KiB and 96 levels deep.'),
  ),
  dedupe: Type.Optional(Dedupe),
  ...executionPolicy,
}

const example = {
  name: 'daily-invoice-gen',
  type: 'CRON',
  schedule: '0 3 * * *',
  timezone: 'America/Los_Angeles',
  target: { pool: 'default', handler: 'generate_invoices' },
  payload: { dateRange: 'yesterday' },
  retryPolicy: { maxAttempts: 3, backoff: 'EXPONENTIAL', initialDelayMs: 30_000 },
  timeoutSec: 600,
  priority: 'NORMAL',
}

/** Every field of a job that can be asked for, whatever its type. */
export const JobInput = Type.Object(fields, closed)
export type WireJobInput = Static<typeof JobInput>

const { dedupe: _, ...withoutDedupe } = fields
const { key: __, ...withoutKeys } = withoutDedupe
const description = 'By `type`: each has its own time field.'

/** For POST: `dedupe` goes with what runs once. */
export const NewJobInput = ShownAs(
  JobInput,
  byType(
    {
      ...{ CRON: withoutDedupe, INTERVAL: withoutDedupe, AFTER: withoutDedupe },
      ...{ ONE_SHOT: fields, DELAYED: fields },
    } as JobTypeFields,
    {
      title: 'JobInput',
      names: {
        CRON: 'CronJobInput',
        INTERVAL: 'IntervalJobInput',
        AFTER: 'AfterJobInput',
        ONE_SHOT: 'OneShotInput',
        DELAYED: 'DelayedInput',
      },
      description,
      examples: [example],
    },
  ),
)

/** For PUT: a definition, of which nothing is a duplicate. */
export const JobReplacement = ShownAs(
  JobInput,
  byType(withoutDedupe, {
    title: 'JobReplacement',
    names: {
      CRON: 'CronJobInput',
      INTERVAL: 'IntervalJobInput',
      AFTER: 'AfterJobInput',
      ONE_SHOT: 'OneShotReplacement',
      DELAYED: 'DelayedReplacement',
    },
    description,
    examples: [example],
  }),
)

/** In a batch nothing is looked up: neither `key` nor `dedupe`. */
export const BatchJobInput = ShownAs(
  JobInput,
  byType(withoutKeys, {
    title: 'BatchJobInput',
    names: {
      CRON: 'CronBatchInput',
      INTERVAL: 'IntervalBatchInput',
      AFTER: 'AfterBatchInput',
      ONE_SHOT: 'OneShotBatchInput',
      DELAYED: 'DelayedBatchInput',
    },
    description,
    examples: [example],
  }),
)

export const JobPatch = MergePatch<JobPatch>(
  Type.Object(withoutDedupe, { ...closed, description: 'Fields to change; null goes back to the default.' }),
  'JobPatch',
)
/** Null goes back to the default. */
export type JobPatch = { [F in Exclude<keyof WireJobInput, 'dedupe'>]?: Patched<WireJobInput[F]> }
type Patched<T> = T extends object ? { [F in keyof T]?: Patched<T[F]> } | null : T | null

export const Job = Type.Object(
  {
    jobId: Uuid,
    key: Nullable(Text('The key it was created with, if any.')),
    name: Text('For people and lists.'),
    tenant: Text('The tenant it belongs to.'),
    managedBy: Nullable(Text('The tool or file that owns it, if any.')),
    labels: Type.Record(Type.String(), Type.String(), { description: 'Names and texts to filter by.' }),
    state: Word(jobStates, { description: 'COMPLETED: it will not fire again. DELETED: kept for its history only.' }),
    version: Type.Integer({ description: 'Grows with every change of the definition; also the ETag.' }),
    type: Word(jobTypes, {
      description: 'When the job fires: once, after a delay, by cron, at an interval, or after another job.',
    }),
    after: Nullable(
      Type.Object(
        {
          job: Text('Its id or key, as it was given; of one that runs once, its id.'),
          on: Word(followedEnds, { description: 'How an execution of that job has to end.' }),
        },
        { ...closed, description: 'AFTER: the executions that it follows.' },
      ),
    ),
    schedule: Nullable(Text('CRON: its expression.')),
    interval: Nullable(Text('INTERVAL: its duration.')),
    anchor: Nullable(Described(Instant, 'INTERVAL: the instant that the intervals are counted from.')),
    runAt: Nullable(Described(Instant, 'ONE_SHOT: when it runs.')),
    runAtLocal: Nullable(
      Text('`runAt` as it was asked for, if that was a time on the clock of `timezone`.', {
        examples: ['2030-01-31T08:00:00'],
      }),
    ),
    delayMs: Nullable(Type.Integer({ description: 'DELAYED: milliseconds from its creation until it runs.' })),
    timezone: Text('IANA time zone in which the schedule is read.'),
    dst: Type.Object(
      {
        gap: Word(dstGaps, { description: 'What an occurrence does whose wall-clock time does not exist that day.' }),
        overlap: Word(dstOverlaps, { description: 'Which one fires if its wall-clock time exists twice that day.' }),
      },
      { description: 'What the schedule does when the clocks change.' },
    ),
    dayFields: Word(dayFieldPolicies, { description: 'Of a CRON with both day fields restricted: how they combine.' }),
    startAt: Nullable(Described(Instant, 'Occurrences before this instant do not fire.')),
    endAt: Nullable(Described(Instant, 'Occurrences at or after this instant do not fire.')),
    maxFires: Nullable(Type.Integer({ description: 'After this many fires the job is COMPLETED.' })),
    jitterSec: Type.Integer({
      description: 'Every occurrence is due a fixed offset after its nominal time, smaller than this many seconds.',
    }),
    jitterBy: Word(jitterSources, {
      description: 'Who said its jitter: the JOB, or the TENANT by its default when the schedule was defined.',
    }),
    misfire: Word(misfirePolicies, { description: 'What happens to occurrences that no node could fire in time.' }),
    misfireAfterSec: Type.Integer({ description: 'An occurrence this many seconds late counts as missed.' }),
    maxCatchUp: Type.Integer({ description: 'With FIRE_ALL: at most this many missed occurrences run.' }),
    graceSec: Nullable(Type.Integer({ description: 'Missed occurrences older than this many seconds are skipped.' })),
    overlap: Word(overlapPolicies, {
      description: 'What happens when an occurrence is due while an execution of the job is unfinished.',
    }),
    pauseAfterFailures: Nullable(Type.Integer({ description: 'This many dead executions in a row pause the job.' })),
    priority: Word(priorities, {
      description: 'The lane of the pool the execution waits in: a higher one is served first.',
    }),
    retryPolicy: Type.Unsafe<WholeRetryPolicy>(
      Described(RetryPolicy, 'How failed attempts are repeated, defaults filled in.'),
    ),
    timeoutSec: Type.Number({ description: 'How many seconds one attempt may run.' }),
    deadlineSec: Nullable(Type.Integer({ description: 'How many seconds all attempts together may take.' })),
    heartbeatTimeoutSec: Nullable(
      Type.Integer({ description: 'An attempt whose handler sends no progress for this many seconds is TIMED_OUT.' }),
    ),
    startWithinSec: Nullable(
      Type.Integer({ description: 'An execution not leased within this many seconds is SKIPPED (EXPIRED).' }),
    ),
    cancelGraceSec: Type.Integer({
      description: 'Seconds between the abort of a running execution and the loss of its lease.',
    }),
    unknownHandlerSec: Type.Integer({
      description: 'Seconds to wait for a worker that has the handler before an execution becomes DEAD.',
    }),
    delivery: Word(deliveries, {
      description: 'AT_LEAST_ONCE repeats an attempt whose outcome is unknown; AT_MOST_ONCE never does.',
    }),
    limits: Type.Array(Type.String(), { description: 'Limits that count its executions, as they were asked for.' }),
    target: Target,
    payload: Described(Json, 'What each execution gives to its handler, as it was written.'),
    nextFireAt: Nullable(Described(Instant, 'When it is due next; null if nothing is to come or it is paused.')),
    nextFireLocal: Nullable(
      Text('The same on the clock of the job’s time zone.', { examples: ['2030-01-31T03:00:00'] }),
    ),
    lastExecutionId: Nullable(Described(Uuid, 'The execution with the latest nominal time, SKIPPED ones too.')),
    lastState: Nullable(Word(executionStates, { description: 'The state of that execution.' })),
    lastRunAt: Nullable(
      Type.String({ format: 'date-time', description: 'When that one started; null if it has not.' }),
    ),
    createdAt: Described(Instant, 'When it was created.'),
    updatedAt: Described(Instant, 'When its definition or state last changed.'),
  },
  { ...closed, title: 'Job', description: 'A job with everything that holds for it, defaults filled in.' },
)
export type Job = Static<typeof Job>
