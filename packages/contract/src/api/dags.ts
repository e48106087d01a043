import { Type } from 'typebox'
import {
  Dag,
  DagInput,
  DagRun,
  DagRunSummary,
  InlineRunInput,
  RunInput,
  SignalInput,
  StepName,
} from '../schemas/dag.ts'
import { closed, Described, Instant, Name, Uuid, Word } from '../schemas/scalars.ts'
import { DagReference } from '../schemas/target.ts'
import { dagRunStates, dagStates } from '../words.ts'
import { idempotencyHeaders, ifMatchHeaders, ofIdempotency } from './jobs.ts'
import { ofDag, ofDagRun } from './links.ts'
import { operation } from './operation.ts'
import { labelFilter, Page, pageFields } from './pages.ts'

const tag = 'DAGs'
const dagParams = Type.Object({ dagId: DagReference }, closed)
const runParams = Type.Object({ runId: Uuid }, closed)

/** What can be wrong with a graph besides its shape. */
const ofGraphs = ['POOL_UNKNOWN', 'LIMIT_UNKNOWN', 'DAG_UNKNOWN', 'TARGET_NOT_ALLOWED', 'PAYLOAD_TOO_LARGE'] as const

const definitionBody = { bodyLimitBytes: 4 * 1024 * 1024, opaque: ['/steps/*/payload'] }
const inlineBody = { bodyLimitBytes: 4 * 1024 * 1024, opaque: ['/payload', '/steps/*/payload'] }
const runHeaders = Type.Object({
  ...idempotencyHeaders.properties,
  traceparent: Type.Optional(
    Type.String({ description: 'W3C trace context of the caller, if the body has none of its own.' }),
  ),
})
const runAnswer = { 200: { description: 'The run as it is now', schema: DagRunSummary, links: ofDagRun } }

export const dagOperations = {
  createDag: operation({
    method: 'POST',
    path: '/v1/dags',
    tag,
    scope: 'jobs:write',
    summary: 'Create a graph of steps',
    description:
      'With a `key` that exists: the same definition changes nothing (200), another one makes a new version (200). Runs keep the ' +
      'version they started with.',
    headers: idempotencyHeaders,
    body: DagInput,
    ...definitionBody,
    answers: {
      201: { description: 'Created', schema: Dag, links: ofDag },
      200: { description: 'It was there already', schema: Dag, links: ofDag },
    },
    errors: [...ofGraphs, 'TENANT_UNDECLARED', ...ofIdempotency, 'STATE_CONFLICT'],
  }),
  listDags: operation({
    method: 'GET',
    path: '/v1/dags',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'List graphs, newest first',
    query: Type.Object(
      {
        ...pageFields,
        state: Type.Optional(Word(dagStates, { description: 'Only in this state. Left out: all but DELETED.' })),
        key: Type.Optional(Described(Name, 'Only with this key.')),
        managedBy: Type.Optional(Described(Name, 'Only owned by this tool or file.')),
        label: labelFilter,
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(Dag, 'DagPage') } },
    errors: [],
  }),
  getDag: operation({
    method: 'GET',
    path: '/v1/dags/:dagId',
    tag,
    scope: 'jobs:read',
    summary: 'A graph',
    params: dagParams,
    answers: { 200: { description: 'The graph', schema: Dag, links: ofDag } },
    errors: ['DAG_NOT_FOUND'],
  }),
  replaceDag: operation({
    method: 'PUT',
    path: '/v1/dags/:dagId',
    tag,
    scope: 'jobs:write',
    summary: 'Give a graph another definition',
    description: 'Makes a new version; runs under way keep theirs. The key stays.',
    params: dagParams,
    headers: ifMatchHeaders,
    body: DagInput,
    ...definitionBody,
    answers: { 200: { description: 'As it is now', schema: Dag, links: ofDag } },
    errors: [...ofGraphs, 'DAG_NOT_FOUND', 'VERSION_MISMATCH', 'STATE_CONFLICT'],
  }),
  deleteDag: operation({
    method: 'DELETE',
    path: '/v1/dags/:dagId',
    tag,
    scope: 'jobs:write',
    summary: 'Delete a graph',
    description: 'It takes no more runs; those under way go on.',
    params: dagParams,
    headers: ifMatchHeaders,
    answers: { 204: { description: 'Deleted' } },
    errors: ['DAG_NOT_FOUND', 'VERSION_MISMATCH', 'STATE_CONFLICT'],
  }),
  runDag: operation({
    method: 'POST',
    path: '/v1/dags/:dagId/runs',
    tag,
    scope: 'jobs:write',
    summary: 'Start a run of a graph',
    description: 'The run and one execution for each step are created in one transaction.',
    params: dagParams,
    headers: runHeaders,
    body: RunInput,
    bodyLimitBytes: 512 * 1024,
    opaque: ['/payload'],
    answers: {
      201: { description: 'Started', schema: DagRunSummary, links: ofDagRun },
      200: { description: 'The same request was answered before', schema: DagRunSummary },
    },
    errors: [...ofGraphs, 'DAG_NOT_FOUND', 'TENANT_UNDECLARED', ...ofIdempotency, 'STATE_CONFLICT'],
  }),
  runSteps: operation({
    method: 'POST',
    path: '/v1/dag-runs',
    tag,
    scope: 'jobs:write',
    summary: 'Start a run with steps of its own',
    headers: runHeaders,
    body: InlineRunInput,
    ...inlineBody,
    answers: {
      201: { description: 'Started', schema: DagRunSummary, links: ofDagRun },
      200: { description: 'The same request was answered before', schema: DagRunSummary },
    },
    errors: [...ofGraphs, 'TENANT_UNDECLARED', ...ofIdempotency, 'STATE_CONFLICT'],
  }),
  listDagRuns: operation({
    method: 'GET',
    path: '/v1/dag-runs',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'List runs, newest first',
    query: Type.Object(
      {
        ...pageFields,
        dagId: Type.Optional(DagReference),
        state: Type.Optional(Word(dagRunStates, { description: 'Only in this state.' })),
        label: labelFilter,
        from: Type.Optional(Described(Instant, 'Only created at or after this.')),
        to: Type.Optional(Described(Instant, 'Only created before this.')),
      },
      closed,
    ),
    answers: { 200: { description: 'A page', schema: Page(DagRunSummary, 'DagRunPage') } },
    errors: [],
  }),
  getDagRun: operation({
    method: 'GET',
    path: '/v1/dag-runs/:runId',
    tag,
    scope: 'jobs:read',
    summary: 'A run with its steps',
    params: runParams,
    answers: { 200: { description: 'The run', schema: DagRun, links: ofDagRun } },
    errors: ['DAG_RUN_NOT_FOUND'],
  }),
  cancelDagRun: operation({
    method: 'POST',
    path: '/v1/dag-runs/:runId/cancel',
    tag,
    scope: 'jobs:write',
    summary: 'Cancel a run',
    description:
      'Steps that have not started never do; those that run are aborted and lose their lease after the grace.',
    params: runParams,
    answers: runAnswer,
    errors: ['DAG_RUN_NOT_FOUND', 'STATE_CONFLICT'],
  }),
  pauseDagRun: operation({
    method: 'POST',
    path: '/v1/dag-runs/:runId/pause',
    tag,
    scope: 'jobs:write',
    summary: 'Pause a run',
    description: 'What is ready or runs goes on; steps that become ready after that wait. Its deadline does not.',
    params: runParams,
    answers: runAnswer,
    errors: ['DAG_RUN_NOT_FOUND', 'STATE_CONFLICT'],
  }),
  resumeDagRun: operation({
    method: 'POST',
    path: '/v1/dag-runs/:runId/resume',
    tag,
    scope: 'jobs:write',
    summary: 'Resume a paused run',
    params: runParams,
    answers: runAnswer,
    errors: ['DAG_RUN_NOT_FOUND', 'STATE_CONFLICT'],
  }),
  retryDagRun: operation({
    method: 'POST',
    path: '/v1/dag-runs/:runId/retry',
    tag,
    scope: 'jobs:write',
    summary: 'Retry a run that FAILED or was CANCELLED',
    description:
      'What has SUCCEEDED is kept; all other steps run again, with all their attempts. No deadline holds for the retry.',
    params: runParams,
    answers: runAnswer,
    errors: ['DAG_RUN_NOT_FOUND', 'STATE_CONFLICT', 'OCCURRENCE_TOO_OLD'],
  }),
  signalStep: operation({
    method: 'POST',
    path: '/v1/dag-runs/:runId/steps/:step/signal',
    tag,
    scope: 'jobs:write',
    summary: 'Signal a step that waits for it',
    description:
      'The step SUCCEEDED with the payload as its result, and the audit says who signalled. One that does not wait yet, waits for something ' +
      'else or waits no more is STATE_CONFLICT.',
    params: Type.Object({ runId: Uuid, step: StepName }, closed),
    body: SignalInput,
    bodyLimitBytes: 512 * 1024,
    opaque: ['/payload'],
    answers: runAnswer,
    errors: ['DAG_RUN_NOT_FOUND', 'STATE_CONFLICT', 'RESULT_TOO_LARGE'],
  }),
}
