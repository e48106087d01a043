import { type Static, Type } from 'typebox'
import { Operation } from '../schemas/operation.ts'
import { closed, Described, Instant, JobReference, Json, Name, Nullable, Text, Uuid } from '../schemas/scalars.ts'
import { Verification } from '../schemas/verification.ts'
import { ofOperation } from './links.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Installation'

export const AuditEntry = Type.Object(
  {
    auditId: Type.Integer({ description: 'Grows; the order of the record.' }),
    at: Described(Instant, 'When.'),
    tenant: Nullable(Text('The tenant it is about; null: the installation.')),
    actor: Text('The caller, node or worker that did it.'),
    action: Text('What was done, as a stable word.'),
    subject: Nullable(Text('The id or name of what it was done to.')),
    detail: Described(Json, 'More about it; which fields there are depends on the action.'),
  },
  { ...closed, title: 'AuditEntry', description: 'Something that was done, or refused.' },
)
export type AuditEntry = Static<typeof AuditEntry>

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
    summary: 'Figures for Prometheus',
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
