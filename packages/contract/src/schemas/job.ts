/** Jobs and submissions as they are asked for. Bounds come from ranges.ts, words from words.ts, defaults from defaults.ts. */
import { type Static, Type } from 'typebox'
import { defaults, limits } from '../defaults.ts'
import { ranges } from '../ranges.ts'
import {
  backoffs,
  dayFieldPolicies,
  dedupeActions,
  dedupeStates,
  deliveries,
  dstGaps,
  dstOverlaps,
  httpMethods,
  jobStates,
  jobTypes,
  misfirePolicies,
  overlapPolicies,
  priorities,
} from '../words.ts'
import { MergePatch } from './merge-patch.ts'
import {
  Amount,
  closed,
  Instant,
  InstantOrLocal,
  Integer,
  Json,
  Labels,
  Name,
  Nullable,
  Traceparent,
  Uuid,
  Word,
} from './scalars.ts'

export const RetryPolicy = Type.Object(
  {
    maxAttempts: Type.Optional(Integer(ranges.maxAttempts, { description: 'Tries in all; the first one counts.' })),
    backoff: Type.Optional(Word(backoffs)),
    initialDelayMs: Type.Optional(Integer(ranges.initialDelayMs)),
    factor: Type.Optional(Amount(ranges.factor)),
    maxDelayMs: Type.Optional(Integer(ranges.maxDelayMs)),
    jitter: Type.Optional(
      Amount(ranges.jitter, { description: 'Share of the delay of which a random part is added.' }),
    ),
    delaysMs: Type.Optional(
      Type.Array(Integer(ranges.delaysMs), {
        maxItems: 1_000,
        description: 'Explicit delays, used instead of `backoff`; the last one repeats.',
      }),
    ),
    nonRetryableErrors: Type.Optional(
      Type.Array(Name, { maxItems: 100, description: 'Names of errors that end the execution at once.' }),
    ),
  },
  { ...closed, title: 'RetryPolicy' },
)

const SecretRef = Type.Object(
  {
    secretRef: Type.String({
      maxLength: 200,
      pattern: '^(env|file):.+$',
      description: 'Resolved when the request is sent, if the operator allows its prefix; never stored or shown.',
    }),
  },
  { ...closed, title: 'SecretRef' },
)

export const HttpTarget = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2_000, description: 'http or https.' }),
    method: Type.Optional(Word(httpMethods)),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" }),
        Type.Union([Type.String({ maxLength: 4_000, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }), SecretRef]),
        { maxProperties: 50, additionalProperties: false },
      ),
    ),
    signWith: Type.Optional(
      Type.Array(SecretRef, {
        minItems: 1,
        maxItems: 2,
        description: 'Keys of the Standard Webhooks signature: two while a key is being replaced.',
      }),
    ),
  },
  { ...closed, title: 'HttpTarget' },
)

export const ShellTarget = Type.Object(
  {
    command: Type.String({ minLength: 1, maxLength: 200, description: 'A name on the operator’s list, not a path.' }),
    args: Type.Optional(Type.Array(Type.String({ maxLength: 4_000, pattern: '^[^\\u0000]*$' }), { maxItems: 100 })),
  },
  { ...closed, title: 'ShellTarget' },
)

export const Target = Type.Object(
  {
    pool: Type.Optional(Name),
    handler: Type.Optional(Name),
    http: Type.Optional(HttpTarget),
    shell: Type.Optional(ShellTarget),
  },
  {
    ...closed,
    title: 'Target',
    description: 'Exactly one of `handler`, `http` and `shell`; `pool` goes with `handler`.',
  },
)

/** How executions are run: the same for jobs and for submissions. */
const executionPolicy = {
  priority: Type.Optional(Word(priorities, { default: defaults.priority })),
  retryPolicy: Type.Optional(RetryPolicy),
  timeoutSec: Type.Optional(Amount(ranges.timeoutSec, { default: defaults.timeoutSec, description: 'Per attempt.' })),
  deadlineSec: Type.Optional(Integer(ranges.deadlineSec, { description: 'Over all attempts.' })),
  heartbeatTimeoutSec: Type.Optional(
    Integer(ranges.heartbeatTimeoutSec, {
      description: 'A handler silent for so long is TIMED_OUT though its worker lives.',
    }),
  ),
  startWithinSec: Type.Optional(
    Integer(ranges.startWithinSec, { description: 'Not leased within this time after it was due: SKIPPED (EXPIRED).' }),
  ),
  cancelGraceSec: Type.Optional(
    Integer(ranges.cancelGraceSec, {
      default: defaults.cancelGraceSec,
      description: 'Between being told to stop and losing the lease.',
    }),
  ),
  unknownHandlerSec: Type.Optional(Integer(ranges.unknownHandlerSec, { default: defaults.unknownHandlerSec })),
  delivery: Type.Optional(Word(deliveries, { default: defaults.delivery })),
  labels: Type.Optional(Labels),
  traceparent: Type.Optional(Traceparent),
}

export const DstPolicy = Type.Object(
  { gap: Type.Optional(Word(dstGaps)), overlap: Type.Optional(Word(dstOverlaps)) },
  { ...closed, title: 'DstPolicy' },
)

/** When a job fires: exactly one of the four time fields, by type. */
const scheduleFields = {
  type: Word(jobTypes),
  runAt: Type.Optional(InstantOrLocal),
  delayMs: Type.Optional(Integer(ranges.delayMs)),
  schedule: Type.Optional(
    Type.String({
      maxLength: limits.scheduleLength,
      description: 'CRON: 5 or 6 fields, or `@hourly` and the like. docs/schedules.md has the grammar.',
      examples: ['0 3 * * *'],
    }),
  ),
  interval: Type.Optional(
    Type.String({ maxLength: 100, description: 'INTERVAL: an ISO 8601 duration.', examples: ['PT15M'] }),
  ),
  anchor: Type.Optional(Instant),
  timezone: Type.Optional(Type.String({ minLength: 1, maxLength: 200, default: defaults.timezone })),
  dst: Type.Optional(DstPolicy),
  dayFields: Type.Optional(
    Word(dayFieldPolicies, {
      default: defaults.dayFields,
      description: 'CRON with both day fields restricted: a day fires if EITHER of them matches, or only if BOTH do.',
    }),
  ),
  startAt: Type.Optional(Instant),
  endAt: Type.Optional(Instant),
  maxFires: Type.Optional(Integer(ranges.maxFires)),
  jitterSec: Type.Optional(Integer(ranges.jitterSec)),
  misfire: Type.Optional(Word(misfirePolicies, { default: defaults.misfire })),
  misfireAfterSec: Type.Optional(Integer(ranges.misfireAfterSec, { default: defaults.misfireAfterSec })),
  maxCatchUp: Type.Optional(Integer(ranges.maxCatchUp, { default: defaults.maxCatchUp })),
  graceSec: Type.Optional(Integer(ranges.graceSec)),
  overlap: Type.Optional(Word(overlapPolicies, { default: defaults.overlap })),
  pauseAfterFailures: Type.Optional(
    Integer(ranges.pauseAfterFailures, { description: 'So many dead letters in a row pause the job.' }),
  ),
}

export const Dedupe = Type.Object(
  {
    key: Name,
    while: Type.Optional(Word(dedupeStates, { default: 'UNFINISHED' })),
    windowSec: Type.Optional(
      Integer(ranges.dedupeWindowSec, { description: 'Also a duplicate within this time, even after the end.' }),
    ),
    onDuplicate: Type.Optional(Word(dedupeActions, { default: 'KEEP' })),
    maxWaitSec: Type.Optional(
      Integer(ranges.dedupeMaxWaitSec, { description: 'DEBOUNCE: no longer after the first submission.' }),
    ),
  },
  { ...closed, title: 'Dedupe', description: 'For ONE_SHOT and DELAYED: at most one stands under this key.' },
)

export const JobInput = Type.Object(
  {
    name: Type.Optional(Name),
    key: Type.Optional(Name),
    managedBy: Type.Optional(Name),
    ...scheduleFields,
    target: Target,
    payload: Type.Optional(Json),
    dedupe: Type.Optional(Dedupe),
    ...executionPolicy,
  },
  {
    ...closed,
    title: 'JobInput',
    examples: [
      {
        name: 'daily-invoice-gen',
        type: 'CRON',
        schedule: '0 3 * * *',
        timezone: 'America/Los_Angeles',
        target: { pool: 'default', handler: 'generate_invoices' },
        payload: { dateRange: 'yesterday' },
        retryPolicy: { maxAttempts: 3, backoff: 'EXPONENTIAL', initialDelayMs: 30_000 },
        timeoutSec: 600,
        priority: 'NORMAL',
      },
    ],
  },
)
export type WireJobInput = Static<typeof JobInput>

const { dedupe: _, ...patchable } = JobInput.properties
export const JobPatch = MergePatch<JobPatch>(Type.Object(patchable, closed), 'JobPatch')
/** Null goes back to the default. */
export type JobPatch = { [F in Exclude<keyof WireJobInput, 'dedupe'>]?: Patched<WireJobInput[F]> }
type Patched<T> = T extends object ? { [F in keyof T]?: Patched<T[F]> } | null : T | null

export const Job = Type.Object(
  {
    jobId: Uuid,
    key: Nullable(Type.String()),
    name: Type.String(),
    tenant: Type.String(),
    managedBy: Nullable(Type.String()),
    labels: Type.Record(Type.String(), Type.String()),
    state: Word(jobStates),
    version: Type.Integer({ description: 'Grows with every change of the definition; also the ETag.' }),
    type: Word(jobTypes),
    schedule: Nullable(Type.String()),
    interval: Nullable(Type.String()),
    anchor: Nullable(Instant),
    runAt: Nullable(Instant),
    runAtLocal: Nullable(
      Type.String({
        description: '`runAt` as it was asked for, if that was a time on the clock of `timezone`.',
        examples: ['2030-01-31T08:00:00'],
      }),
    ),
    delayMs: Nullable(Type.Integer()),
    timezone: Type.String(),
    dst: Type.Object({ gap: Word(dstGaps), overlap: Word(dstOverlaps) }),
    dayFields: Word(dayFieldPolicies, { description: 'Of a CRON with both day fields restricted: how they combine.' }),
    startAt: Nullable(Instant),
    endAt: Nullable(Instant),
    maxFires: Nullable(Type.Integer()),
    jitterSec: Type.Integer(),
    misfire: Word(misfirePolicies),
    misfireAfterSec: Type.Integer(),
    maxCatchUp: Type.Integer(),
    graceSec: Nullable(Type.Integer()),
    overlap: Word(overlapPolicies),
    pauseAfterFailures: Nullable(Type.Integer()),
    priority: Word(priorities),
    retryPolicy: RetryPolicy,
    timeoutSec: Type.Number(),
    deadlineSec: Nullable(Type.Integer()),
    heartbeatTimeoutSec: Nullable(Type.Integer()),
    startWithinSec: Nullable(Type.Integer()),
    cancelGraceSec: Type.Integer(),
    unknownHandlerSec: Type.Integer(),
    delivery: Word(deliveries),
    target: Target,
    payload: Json,
    nextFireAt: Nullable(Instant),
    nextFireLocal: Nullable(
      Type.String({ description: 'The same on the clock of the job’s zone.', examples: ['2030-01-31T03:00:00'] }),
    ),
    lastExecutionId: Nullable(
      Type.String({ format: 'uuid', description: 'The execution with the latest nominal time, SKIPPED ones too.' }),
    ),
    lastState: Nullable(Type.String()),
    lastRunAt: Nullable(
      Type.String({ format: 'date-time', description: 'When that one started; null if it has not.' }),
    ),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { ...closed, title: 'Job' },
)
export type Job = Static<typeof Job>
