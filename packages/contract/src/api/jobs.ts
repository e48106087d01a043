import { Type } from 'typebox'
import { Execution, executionFilterFields } from '../schemas/execution.ts'
import { Job, JobInput, JobPatch } from '../schemas/job.ts'
import { BackfillInput, DryRun, Operation } from '../schemas/operation.ts'
import { closed, Instant, Json, Name, Nullable, Traceparent, Uuid, Word } from '../schemas/scalars.ts'
import { dedupeVerdicts, jobStates, jobTypes } from '../words.ts'
import { operation } from './operation.ts'
import { labelFilter, Page, pageFields } from './pages.ts'

const tag = 'Jobs'
const jobParams = Type.Object({ jobId: Uuid }, closed)

/** What can be wrong with a definition. */
const ofDefinitions = [
  'SCHEDULE_INVALID',
  'SCHEDULE_NEVER_FIRES',
  'TIMEZONE_UNKNOWN',
  'TIME_OUT_OF_RANGE',
  'POOL_UNKNOWN',
  'TARGET_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
] as const

export const idempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\u0020-\\u007e]+$',
      description: 'For 24 hours the same key and body get the same answer; another body gets 409.',
    }),
  ),
})

const submissionHeaders = Type.Object({
  ...idempotencyHeaders.properties,
  traceparent: Type.Optional(
    Type.String({ description: 'W3C trace context of the caller, for what has none in its body.' }),
  ),
})

export const ifMatchHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      maxLength: 50,
      pattern: '^(\\*|(W/)?"[0-9]+"|[0-9]+)$',
      description: 'The ETag of the job as it was read; another version gets 412.',
    }),
  ),
})

export const CreatedJob = Type.Object(
  {
    ...Job.properties,
    dedupe: Type.Optional(
      Type.Object({ verdict: Word(dedupeVerdicts), executionId: Uuid }, { ...closed, title: 'DedupeAnswer' }),
    ),
  },
  { ...closed, title: 'CreatedJob' },
)

const BatchItem = Type.Object(
  {
    jobId: Type.Optional(Uuid),
    state: Type.Optional(Word(jobStates)),
    nextFireAt: Type.Optional(Nullable(Instant)),
    error: Type.Optional(Json),
  },
  { ...closed, title: 'BatchItem', description: 'Either what was created or, with `partial`, its problem document.' },
)

export const jobOperations = {
  createJob: operation({
    method: 'POST',
    path: '/v1/jobs',
    tag,
    scope: 'jobs:write',
    summary: 'Create a job, or submit work',
    description:
      'With a `key` that exists: the same definition changes nothing (200), another one updates the job (200). A ONE_SHOT ' +
      'without `runAt` runs now: its job id is its execution id, and nothing more is to come (`nextFireAt` is null). With ' +
      '`dedupe` the answer names the execution that stands: NEW, REPLACED and DEBOUNCED are this one (201), KEPT is the one ' +
      'that was there (200).',
    headers: submissionHeaders,
    body: JobInput,
    answers: {
      201: { description: 'Created', schema: CreatedJob },
      200: { description: 'It was there already', schema: CreatedJob },
    },
    errors: [...ofDefinitions, 'IDEMPOTENCY_KEY_REUSED', 'STATE_CONFLICT'],
  }),
  createJobs: operation({
    method: 'POST',
    path: '/v1/jobs/batch',
    heavy: true,
    bodyLimitBytes: 16 * 1024 * 1024,
    tag,
    scope: 'jobs:write',
    summary: 'Create up to 10,000 jobs or submissions',
    description:
      'All or none, unless `partial`: then each that is wrong is answered with its problem, even if nothing is left to ' +
      'create. No `key` or `dedupe` here.',
    headers: submissionHeaders,
    body: Type.Object(
      {
        jobs: Type.Array(JobInput, { minItems: 1, maxItems: 10_000 }),
        partial: Type.Optional(Type.Boolean({ default: false })),
      },
      { ...closed, title: 'BatchInput' },
    ),
    roughBody: Type.Object(
      {
        jobs: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 10_000 }),
        partial: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
    answers: {
      201: {
        description: 'Created',
        schema: Type.Object({ items: Type.Array(BatchItem) }, { ...closed, title: 'BatchAnswer' }),
      },
      200: {
        description: 'The same request was answered before',
        schema: Type.Object({ items: Type.Array(BatchItem) }, closed),
      },
    },
    errors: [...ofDefinitions, 'IDEMPOTENCY_KEY_REUSED', 'STATE_CONFLICT'],
  }),
  listJobs: operation({
    method: 'GET',
    path: '/v1/jobs',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'List jobs, newest first',
    query: Type.Object(
      {
        ...pageFields,
        state: Type.Optional(Word(jobStates)),
        type: Type.Optional(Word(jobTypes)),
        key: Type.Optional(Name),
        name: Type.Optional(Name),
        handler: Type.Optional(Name),
        pool: Type.Optional(Name),
        managedBy: Type.Optional(Name),
        label: labelFilter,
        from: Type.Optional(Instant),
        to: Type.Optional(Instant),
      },
      { ...closed, description: '`from` and `to` are about `nextFireAt`; `to` is exclusive.' },
    ),
    answers: { 200: { description: 'A page', schema: Page(Job, 'JobPage') } },
    errors: [],
  }),
  getJob: operation({
    method: 'GET',
    path: '/v1/jobs/:jobId',
    tag,
    scope: 'jobs:read',
    summary: 'A job and its latest ten executions',
    params: jobParams,
    answers: {
      200: {
        description: 'The job; its version is the ETag',
        schema: Type.Object(
          { ...Job.properties, executions: Type.Array(Execution) },
          { ...closed, title: 'JobWithExecutions' },
        ),
      },
    },
    errors: ['JOB_NOT_FOUND'],
  }),
  replaceJob: operation({
    method: 'PUT',
    path: '/v1/jobs/:jobId',
    tag,
    scope: 'jobs:write',
    summary: 'Replace the definition of a job',
    params: jobParams,
    headers: ifMatchHeaders,
    body: JobInput,
    answers: { 200: { description: 'As it is now', schema: Job } },
    errors: ['JOB_NOT_FOUND', 'VERSION_MISMATCH', ...ofDefinitions, 'STATE_CONFLICT'],
  }),
  patchJob: operation({
    method: 'PATCH',
    path: '/v1/jobs/:jobId',
    tag,
    scope: 'jobs:write',
    summary: 'Change a part of a job',
    description: 'A merge patch (RFC 7396): what is left out stays, null goes back to the default.',
    params: jobParams,
    headers: ifMatchHeaders,
    body: JobPatch,
    bodyTypes: ['application/merge-patch+json'],
    answers: { 200: { description: 'As it is now', schema: Job } },
    errors: ['JOB_NOT_FOUND', 'VERSION_MISMATCH', ...ofDefinitions, 'STATE_CONFLICT'],
  }),
  deleteJob: operation({
    method: 'DELETE',
    path: '/v1/jobs/:jobId',
    tag,
    scope: 'jobs:write',
    summary: 'Delete a job',
    description: 'It fires no more; what is PENDING of it is cancelled, what is RUNNING only if asked for.',
    params: jobParams,
    headers: ifMatchHeaders,
    query: Type.Object({ cancelRunning: Type.Optional(Type.Boolean({ default: false })) }, closed),
    answers: { 204: { description: 'Gone' } },
    errors: ['JOB_NOT_FOUND', 'VERSION_MISMATCH', 'STATE_CONFLICT'],
  }),
  pauseJob: operation({
    method: 'POST',
    path: '/v1/jobs/:jobId/pause',
    tag,
    scope: 'jobs:write',
    summary: 'Pause a job',
    description: 'Occurrences that pass meanwhile are recorded as SKIPPED (PAUSED). The version stays.',
    params: jobParams,
    headers: ifMatchHeaders,
    answers: { 200: { description: 'As it is now', schema: Job } },
    errors: ['JOB_NOT_FOUND', 'VERSION_MISMATCH', 'STATE_CONFLICT'],
  }),
  resumeJob: operation({
    method: 'POST',
    path: '/v1/jobs/:jobId/resume',
    tag,
    scope: 'jobs:write',
    summary: 'Resume a job',
    params: jobParams,
    headers: ifMatchHeaders,
    answers: { 200: { description: 'As it is now', schema: Job } },
    errors: ['JOB_NOT_FOUND', 'VERSION_MISMATCH', 'STATE_CONFLICT'],
  }),
  triggerJob: operation({
    method: 'POST',
    path: '/v1/jobs/:jobId/trigger',
    tag,
    scope: 'jobs:write',
    summary: 'Run a job now, apart from its schedule',
    description:
      'A paused job too. Where the overlap policy forbids it, the run is recorded as SKIPPED (OVERLAP) and the answer is 409.',
    params: jobParams,
    headers: submissionHeaders,
    body: Type.Optional(
      Type.Object(
        { payload: Type.Optional(Json), traceparent: Type.Optional(Traceparent) },
        { ...closed, title: 'TriggerInput', description: 'A `payload` here replaces the job’s, for this run.' },
      ),
    ),
    answers: {
      201: { description: 'Its execution', schema: Execution },
      200: { description: 'The same request was answered before', schema: Execution },
    },
    errors: ['JOB_NOT_FOUND', 'OVERLAP_FORBIDDEN', 'PAYLOAD_TOO_LARGE', 'IDEMPOTENCY_KEY_REUSED', 'STATE_CONFLICT'],
  }),
  backfillJob: operation({
    method: 'POST',
    path: '/v1/jobs/:jobId/backfill',
    heavy: true,
    tag,
    scope: 'jobs:write',
    summary: 'Run the occurrences of a time that has passed',
    description: 'Fills what has no execution and, if asked, what was SKIPPED; behind live work.',
    params: jobParams,
    headers: idempotencyHeaders,
    body: BackfillInput,
    answers: {
      200: { description: 'With `dryRun`', schema: DryRun },
      202: { description: 'Under way', schema: Operation },
    },
    errors: ['JOB_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'STATE_CONFLICT', 'OCCURRENCE_TOO_OLD'],
  }),
  listJobExecutions: operation({
    method: 'GET',
    path: '/v1/jobs/:jobId/executions',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'Executions of a job, newest first',
    params: jobParams,
    query: Type.Object(
      {
        ...pageFields,
        state: executionFilterFields.state,
        origin: executionFilterFields.origin,
        error: executionFilterFields.error,
        from: executionFilterFields.from,
        to: executionFilterFields.to,
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(Execution, 'ExecutionPage') } },
    errors: ['JOB_NOT_FOUND'],
  }),
  nextFires: operation({
    method: 'GET',
    path: '/v1/jobs/:jobId/next',
    tag,
    scope: 'jobs:read',
    summary: 'The next times a job fires',
    params: jobParams,
    query: Type.Object({ count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 10 })) }, closed),
    answers: { 200: { description: 'The times', schema: nextFiresSchema() } },
    errors: ['JOB_NOT_FOUND'],
  }),
  previewSchedule: operation({
    method: 'POST',
    path: '/v1/schedules/preview',
    tag,
    scope: 'jobs:read',
    summary: 'The times a schedule would fire',
    body: Type.Object(
      {
        type: Word(['CRON', 'INTERVAL']),
        schedule: JobInput.properties.schedule,
        interval: JobInput.properties.interval,
        anchor: JobInput.properties.anchor,
        timezone: JobInput.properties.timezone,
        dst: JobInput.properties.dst,
        startAt: JobInput.properties.startAt,
        endAt: JobInput.properties.endAt,
        after: Type.Optional(Instant),
        count: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 10 })),
      },
      { ...closed, title: 'PreviewInput' },
    ),
    answers: { 200: { description: 'The times', schema: fires() } },
    errors: ['SCHEDULE_INVALID', 'SCHEDULE_NEVER_FIRES', 'TIMEZONE_UNKNOWN', 'TIME_OUT_OF_RANGE'],
  }),
}

function fires() {
  return Type.Object(
    {
      timezone: Type.String(),
      fires: Type.Array(
        Type.Object(
          {
            scheduledFor: Instant,
            dueAt: Instant,
            local: Type.String({ description: 'With the offset of that day.' }),
            dst: Nullable(
              Word(['SHIFTED', 'FIRST', 'SECOND'], {
                description:
                  'SHIFTED: its wall-clock time does not exist that day, and it was moved. FIRST, SECOND: its wall-clock ' +
                  'time exists twice that day.',
              }),
            ),
          },
          closed,
        ),
      ),
    },
    { ...closed, title: 'Fires' },
  )
}

function nextFiresSchema() {
  const description =
    'Of the job. Only an ACTIVE job fires: those of a PAUSED one are the times it would fire at if resumed now.'
  const { properties } = fires()
  return Type.Object({ state: Word(jobStates, { description }), ...properties }, { ...closed, title: 'NextFires' })
}
