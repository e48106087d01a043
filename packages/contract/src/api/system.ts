import { Type } from 'typebox'
import { AuditEntry } from '../schemas/audit.ts'
import { Operation } from '../schemas/operation.ts'
import { closed, Described, Instant, JobReference, Name, Text, Uuid, Word } from '../schemas/scalars.ts'
import { Stats, statsSteps } from '../schemas/stats.ts'
import { Verification } from '../schemas/verification.ts'
import { ofOperation } from './links.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Installation'

const Health = Type.Object(
  {
    status: Text('`ok`, or what is wrong in one word.'),
    checks: Type.Record(Type.String(), Type.String(), { description: 'Each check by its name, and what it found.' }),
  },
  { title: 'Health', description: 'Whether a node is well.' },
)

export const systemOperations = {
  getOperation: operation({
    method: 'GET',
    path: '/v1/operations/:operationId',
    tag,
    scope: 'jobs:read',
    summary: 'Read the progress of an operation',
    params: Type.Object({ operationId: Uuid }, closed),
    answers: { 200: { description: 'The operation', schema: Operation, links: ofOperation } },
    errors: ['OPERATION_NOT_FOUND'],
  }),
  cancelOperation: operation({
    method: 'POST',
    path: '/v1/operations/:operationId/cancel',
    tag,
    scope: 'jobs:write',
    summary: 'Stop an operation',
    params: Type.Object({ operationId: Uuid }, closed),
    answers: { 200: { description: 'The operation', schema: Operation, links: ofOperation } },
    errors: ['OPERATION_NOT_FOUND', 'STATE_CONFLICT'],
  }),
  listAudit: operation({
    method: 'GET',
    path: '/v1/audit',
    heavy: true,
    tag,
    scope: 'admin',
    summary: 'Who did what, newest first',
    query: Type.Object(
      {
        ...pageFields,
        action: Type.Optional(Described(Name, 'Only this action.')),
        installation: Type.Optional(
          Type.Boolean({ description: 'Entries that belong to no tenant instead; needs a platform token.' }),
        ),
        subject: Type.Optional(Described(Name, 'Only what was done to this.')),
        from: Type.Optional(Described(Instant, 'Only at or after this.')),
        to: Type.Optional(Described(Instant, 'Only before this.')),
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(AuditEntry, 'AuditPage') } },
    errors: ['TENANT_NOT_YOURS'],
  }),
  verify: operation({
    method: 'GET',
    path: '/v1/verify',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'Compare the ledger with the schedules',
    description:
      'Computes again which occurrences were due from `from` on and before `to`, and compares them with the ledger: what is ' +
      'missing, what is there twice, what was late, what was skipped and why. A request does a bounded part of it; go on ' +
      'with `nextCursor`, leaving everything else as it is, until it is null, and add the parts up.',
    query: Type.Object(
      {
        from: Described(Instant, 'The first instant that is checked.'),
        to: Type.Optional(Described(Instant, 'Exclusive; now, if left out or later.')),
        job: Type.Optional(Described(JobReference, 'Only this job: id or key.')),
        lateAfterMs: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 86_400_000,
            default: 1_000,
            description: 'Fired later than this many milliseconds after it was due: late.',
          }),
        ),
        limit: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 1_000,
            default: 100,
            description: 'At most this many findings are listed.',
          }),
        ),
        cursor: pageFields.cursor,
      },
      closed,
    ),
    answers: { 200: { description: 'What was found', schema: Verification } },
    errors: ['JOB_NOT_FOUND', 'TIME_OUT_OF_RANGE'],
  }),
  getStats: operation({
    method: 'GET',
    path: '/v1/stats',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'What happened, by minute or by hour',
    description:
      'Rates, lateness, failures and durations of the tenant, as nodes have counted them. They are written every few seconds, so ' +
      '`until` is a little while ago, and what a node that died had not written is missing: the ledger is what counts.',
    query: Type.Object(
      {
        step: Type.Optional(
          Word(statsSteps, {
            default: 'MINUTE',
            description: 'How long a bucket is. Minutes are kept for 48 hours, hours for 30 days.',
          }),
        ),
        from: Type.Optional(
          Described(Instant, 'The first bucket holds this; an hour before `to` by minute, a day by hour, if left out.'),
        ),
        to: Type.Optional(Described(Instant, 'Exclusive; now, if left out or later.')),
        pool: Type.Optional(Described(Name, 'Only this pool.')),
        handler: Type.Optional(Described(Name, 'Only this handler.')),
      },
      closed,
    ),
    answers: { 200: { description: 'The figures', schema: Stats } },
    errors: ['TIME_OUT_OF_RANGE'],
  }),
  healthz: operation({
    method: 'GET',
    path: '/healthz',
    tag,
    scope: null,
    summary: 'Is the process alive?',
    answers: { 200: { description: 'It is', schema: Health } },
    errors: [],
  }),
  readyz: operation({
    method: 'GET',
    path: '/readyz',
    tag,
    scope: null,
    summary: 'Can this node serve?',
    answers: { 200: { description: 'It can', schema: Health }, 503: { description: 'Not now', schema: Health } },
    errors: [],
  }),
  metrics: operation({
    method: 'GET',
    path: '/metrics',
    tag,
    scope: null,
    moreWith: 'metrics:read',
    summary: 'Figures for Prometheus',
    description:
      'See docs/metrics.md. What names a tenant, a pool or a handler is shown to platform tokens with the scope ' +
      '`metrics:read` only; for others the same figures are added up over them. A node without tokens shows everything.',
    answers: { 200: { description: 'Text', mediaType: 'text/plain' } },
    errors: [],
  }),
  openapi: operation({
    method: 'GET',
    path: '/openapi.json',
    tag,
    scope: null,
    summary: 'This API as OpenAPI 3.1',
    answers: { 200: { description: 'The document', schema: Type.Object({}) } },
    errors: [],
  }),
  docs: operation({
    method: 'GET',
    path: '/docs',
    tag,
    scope: null,
    summary: 'This API for people',
    answers: { 200: { description: 'A page', mediaType: 'text/html' } },
    errors: [],
  }),
  docsScript: operation({
    method: 'GET',
    path: '/docs/page.js',
    tag,
    scope: null,
    summary: 'What that page runs',
    answers: { 200: { description: 'JavaScript', mediaType: 'text/javascript' } },
    errors: [],
  }),
}
