import { Type } from 'typebox'
import { Execution, executionFilterFields } from '../schemas/execution.ts'
import { Fires, howMany, NextFires, PreviewInput } from '../schemas/fires.ts'
import { BatchJobInput, Job, JobPatch, JobReplacement, NewJobInput } from '../schemas/job.ts'
import { JobVersion } from '../schemas/job-version.ts'
import { BackfillInput, DryRun, Operation } from '../schemas/operation.ts'
import { Problem } from '../schemas/problem.ts'
import {
  closed,
  Described,
  Instant,
  JobReference,
  Json,
  Name,
  Nullable,
  Traceparent,
  Uuid,
  Word,
} from '../schemas/scalars.ts'
import { dedupeVerdicts, jobStates, jobTypes } from '../words.ts'
import { ofExecution, ofJob, ofOperation } from './links.ts'
import { operation } from './operation.ts'
import { labelFilter, Page, pageFields } from './pages.ts'

const tag = 'Jobs'
const jobParams = Type.Object({ jobId: JobReference }, closed)

/** What can be wrong with a definition. */
const ofDefinitions = [
  'SCHEDULE_INVALID',
  'SCHEDULE_NEVER_FIRES',
  'TIMEZONE_UNKNOWN',
  'TIME_OUT_OF_RANGE',
  'POOL_UNKNOWN',
  'LIMIT_UNKNOWN',
  'DAG_UNKNOWN',
  'TARGET_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'QUOTA_EXCEEDED',
] as const

/** What can be wrong with an Idempotency-Key. */
export const ofIdempotency = ['IDEMPOTENCY_KEY_REUSED', 'QUOTA_EXCEEDED'] as const

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
      pattern: '^(\\*|(W/)?"[0-9]{1,9}"|[0-9]{1,9})$',
      description: 'The ETag as it was read; another version gets 412.',
    }),
  ),
})

export const CreatedJob = Type.Object(
  {
    ...Job.properties,
    dedupe: Type.Optional(
      Type.Object(
        {
          verdict: Word(dedupeVerdicts, { description: 'KEPT: the earlier one holds the key. Else: this one.' }),
          executionId: Described(Uuid, 'The execution that holds the key.'),
        },
        { ...closed, title: 'DedupeAnswer', description: 'What became of a submission with a dedupe key.' },
      ),
    ),
  },
  { ...closed, title: 'CreatedJob', description: 'The job as it was created or found.' },
)

/** Twice the largest payload: other programs write it with spaces and `\\u` escapes. */
const withPayload = { bodyLimitBytes: 512 * 1024, opaque: ['/payload'] }

const BatchItem = Type.Object(
  {
    jobId: Type.Optional(Described(Uuid, 'The id of the job or submission.')),
    state: Type.Optional(Word(jobStates, { description: 'The state of the job.' })),
    nextFireAt: Type.Optional(Nullable(Described(Instant, 'When it is due; null if it is due now.'))),
    error: Type.Optional(Described(Problem, 'Why it was not created.')),
  },
  { ...closed, title: 'BatchItem', description: 'Either what was created or, with `partial`, its problem document.' },
)

const BatchAnswer = Type.Object(
  { items: Type.Array(BatchItem, { description: 'In the order of the request.' }) },
  { ...closed, title: 'BatchAnswer', description: 'What became of each.' },
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
      '`dedupe` the answer names the execution that holds the key: NEW, REPLACED and DEBOUNCED are this one (201), KEPT is the one ' +
      'that was there (200).',
    headers: submissionHeaders,
    body: NewJobInput,
    ...withPayload,
    answers: {
      201: { description: 'Created', schema: CreatedJob, links: ofJob },
      200: { description: 'It was there already', schema: CreatedJob, links: ofJob },
    },
    errors: [...ofDefinitions, 'TENANT_UNDECLARED', 'IDEMPOTENCY_KEY_REUSED', 'STATE_CONFLICT'],
  }),
  createJobs: operation({
    method: 'POST',
    path: '/v1/jobs/batch',
    heavy: true,
    bodyLimitBytes: 16 * 1024 * 1024,
    opaque: ['/jobs/*/payload'],
    tag,
    scope: 'jobs:write',
    summary: 'Create up to 10,000 jobs or submissions',
    description:
      'All or none, unless `partial`: then each that is wrong is answered with its problem, even if nothing is left to ' +
      'create. No `key` or `dedupe` here.',
    headers: submissionHeaders,
    body: Type.Object(
      {
        jobs: Type.Array(BatchJobInput, {
          minItems: 1,
          maxItems: 10_000,
          description: 'What to create, in the order of the answer.',
        }),
        partial: Type.Optional(
          Type.Boolean({
            default: false,
            description: 'True: create what is right and answer the rest with its problem.',
          }),
        ),
      },
      { ...closed, title: 'BatchInput', description: 'Jobs and submissions, created in one transaction.' },
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
        schema: BatchAnswer,
      },
      200: {
        description: 'The same request was answered before',
        schema: BatchAnswer,
      },
    },
    errors: [...ofDefinitions, 'TENANT_UNDECLARED', 'IDEMPOTENCY_KEY_REUSED', 'STATE_CONFLICT'],
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
        state: Type.Optional(Word(jobStates, { description: 'Only in this state.' })),
        type: Type.Optional(Word(jobTypes, { description: 'Only of this type.' })),
        search: Type.Optional(
          Described(Name, 'Only with this text in the name, the key or the handler; upper and lower case are one.'),
        ),
        key: Type.Optional(Described(Name, 'Only with this key.')),
        name: Type.Optional(Described(Name, 'Only with this name.')),
        handler: Type.Optional(Described(Name, 'Only of this handler.')),
        pool: Type.Optional(Described(Name, 'Only of this pool.')),
        managedBy: Type.Optional(Described(Name, 'Only owned by this tool or file.')),
        label: labelFilter,
        from: Type.Optional(Described(Instant, 'Only with a `nextFireAt` at or after this.')),
        to: Type.Optional(Described(Instant, 'Only with a `nextFireAt` before this.')),
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
          {
            ...Job.properties,
            executions: Type.Array(Execution, { description: 'The latest ten, newest first.' }),
          },
          { ...closed, title: 'JobWithExecutions', description: 'A job and its latest executions.' },
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
    body: JobReplacement,
    ...withPayload,
    answers: { 200: { description: 'As it is now', schema: Job, links: ofJob } },
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
    ...withPayload,
    bodyTypes: ['application/merge-patch+json'],
    answers: { 200: { description: 'As it is now', schema: Job, links: ofJob } },
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
    query: Type.Object(
      {
        cancelRunning: Type.Optional(
          Type.Boolean({ default: false, description: 'True: also cancel what is RUNNING.' }),
        ),
      },
      closed,
    ),
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
    answers: { 200: { description: 'As it is now', schema: Job, links: ofJob } },
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
    answers: { 200: { description: 'As it is now', schema: Job, links: ofJob } },
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
    ...withPayload,
    body: Type.Optional(
      Type.Object(
        {
          payload: Type.Optional(Described(Json, 'Replaces the payload of the job, for this run.')),
          traceparent: Type.Optional(Traceparent),
        },
        { ...closed, title: 'TriggerInput', description: 'What is different in this run.' },
      ),
    ),
    answers: {
      201: { description: 'Its execution', schema: Execution, links: ofExecution },
      200: { description: 'The same request was answered before', schema: Execution, links: ofExecution },
    },
    errors: [
      ...(['JOB_NOT_FOUND', 'OVERLAP_FORBIDDEN', 'PAYLOAD_TOO_LARGE', 'STATE_CONFLICT'] as const),
      ...ofIdempotency,
    ],
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
      202: { description: 'Under way', schema: Operation, links: ofOperation },
    },
    errors: ['JOB_NOT_FOUND', ...ofIdempotency, 'STATE_CONFLICT', 'OCCURRENCE_TOO_OLD'],
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
  listJobVersions: operation({
    method: 'GET',
    path: '/v1/jobs/:jobId/versions',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'Every version of a job, newest first',
    description: 'The first is the one that holds now. Versions that were replaced before the retention are gone.',
    params: jobParams,
    query: Type.Object(pageFields, closed),
    answers: { 200: { description: 'A page', schema: Page(JobVersion, 'JobVersionPage') } },
    errors: ['JOB_NOT_FOUND'],
  }),
  nextFires: operation({
    method: 'GET',
    path: '/v1/jobs/:jobId/next',
    tag,
    scope: 'jobs:read',
    summary: 'The next times a job fires',
    params: jobParams,
    query: Type.Object({ count: howMany }, closed),
    answers: { 200: { description: 'The times', schema: NextFires } },
    errors: ['JOB_NOT_FOUND'],
  }),
  previewSchedule: operation({
    method: 'POST',
    path: '/v1/schedules/preview',
    tag,
    scope: 'jobs:read',
    summary: 'The times a schedule would fire',
    body: PreviewInput,
    answers: { 200: { description: 'The times', schema: Fires } },
    errors: ['SCHEDULE_INVALID', 'SCHEDULE_NEVER_FIRES', 'TIMEZONE_UNKNOWN', 'TIME_OUT_OF_RANGE'],
  }),
}
