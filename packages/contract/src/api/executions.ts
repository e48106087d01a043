import { Type } from 'typebox'
import { Execution, Explanation, executionFilterFields, LogLines } from '../schemas/execution.ts'
import { DeadLetterGroups } from '../schemas/failures.ts'
import { BulkInput, CopyInput, DryRun, Operation } from '../schemas/operation.ts'
import { closed, LastEventId, Uuid, Word } from '../schemas/scalars.ts'
import { CompletionInput } from '../schemas/worker.ts'
import { cancelOutcomes } from '../words.ts'
import { idempotencyHeaders, ofIdempotency } from './jobs.ts'
import { ofExecution, ofOperation } from './links.ts'
import { operation } from './operation.ts'
import { labelFilter, Page, pageFields } from './pages.ts'

const tag = 'Executions'
const executionParams = Type.Object({ executionId: Uuid }, closed)
const filterQuery = { ...pageFields, ...executionFilterFields, label: labelFilter }
const { state: _, ...deadLetterQuery } = filterQuery
const { limit: __, cursor: ___, ...groupQuery } = deadLetterQuery
const bulkAnswers = {
  200: { description: 'With `dryRun`', schema: DryRun },
  202: { description: 'Under way', schema: Operation, links: ofOperation },
}

export const executionOperations = {
  listExecutions: operation({
    method: 'GET',
    path: '/v1/executions',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'List executions, newest first',
    description:
      '`from` and `to` are about `scheduledFor`. Without `jobId` or `key` and without `from`: of the last 24 hours. With ' +
      '`state=DEAD` the same as the dead letters: what was purged is found by id and in lists without `state`.',
    query: Type.Object(filterQuery, closed),
    answers: { 200: { description: 'A page', schema: Page(Execution, 'ExecutionPage') } },
    errors: [],
  }),
  getExecution: operation({
    method: 'GET',
    path: '/v1/executions/:executionId',
    tag,
    scope: 'jobs:read',
    summary: 'An execution, at once or when it has ended',
    description:
      'One that is still to come (a one-shot before its time) is EXECUTION_TO_COME; with `waitSec` that is waited for too.',
    params: executionParams,
    query: Type.Object(
      {
        waitSec: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 60,
            description: 'Wait up to this many seconds for its end; then its current state is returned.',
          }),
        ),
      },
      closed,
    ),
    answers: { 200: { description: 'The execution', schema: Execution, links: ofExecution } },
    errors: ['EXECUTION_NOT_FOUND', 'EXECUTION_TO_COME'],
  }),
  cancelExecution: operation({
    method: 'POST',
    path: '/v1/executions/:executionId/cancel',
    tag,
    scope: 'jobs:write',
    summary: 'Cancel an execution',
    description:
      'One that is to come never fires, a pending one never starts, a running one is aborted and loses its lease after the grace.',
    params: executionParams,
    answers: {
      200: {
        description: 'What became of it',
        schema: Type.Object(
          {
            executionId: Uuid,
            outcome: Word(cancelOutcomes, {
              description: 'CANCELLING: it runs and is being aborted. ENDED: it had ended before.',
            }),
          },
          { ...closed, title: 'CancelAnswer', description: 'What became of the execution.' },
        ),
      },
    },
    errors: ['EXECUTION_NOT_FOUND', 'STATE_CONFLICT'],
  }),
  retryExecution: operation({
    method: 'POST',
    path: '/v1/executions/:executionId/retry',
    tag,
    scope: 'jobs:write',
    summary: 'Bring a dead or cancelled execution back, with all its attempts',
    params: executionParams,
    answers: { 200: { description: 'As it is now', schema: Execution, links: ofExecution } },
    errors: ['EXECUTION_NOT_FOUND', 'STATE_CONFLICT', 'OCCURRENCE_TOO_OLD', 'OVERLAP_FORBIDDEN'],
  }),
  completeExecution: operation({
    method: 'POST',
    path: '/v1/executions/:executionId/complete',
    bodyLimitBytes: 512 * 1024,
    opaque: ['/result'],
    tag,
    scope: null,
    summary: 'Report the end of an execution whose HTTP target answered 202',
    description:
      'The token came with the request to the target (`Carillon-Token`) and is bound to that one lease. A FAILED follows ' +
      'the retry policy. Repeated, it gets the same answer.',
    params: executionParams,
    headers: Type.Object({
      'carillon-token': Type.Optional(
        Type.String({ maxLength: 500, description: 'The token that came with the request to the target.' }),
      ),
    }),
    body: CompletionInput,
    answers: {
      200: {
        description: 'Taken over',
        schema: Type.Object(
          { executionId: Uuid, verdict: Word(['ACCEPTED'], { description: 'It counts.' }) },
          { ...closed, title: 'CompletionAnswer', description: 'The outcome was accepted.' },
        ),
      },
    },
    errors: ['FENCE_STALE', 'TOKEN_INVALID', 'RESULT_TOO_LARGE', 'RESULT_INVALID'],
  }),
  getExecutionLogs: operation({
    method: 'GET',
    path: '/v1/executions/:executionId/logs',
    tag,
    scope: 'jobs:read',
    summary: 'The lines its handler logged, at once or as they come',
    description:
      'They are here about a second after they were logged, while the handler runs, and stay if its worker dies. With ' +
      '`follow=true` the answer is a stream of server-sent events (`text/event-stream`): `line` with `data` as in `lines` and the ' +
      'number of the line as `id`; `progress` with `{"progress"}` when there is a new one; `end` with `{"state"}` when the execution ' +
      'has ended, and then the stream ends. With `Last-Event-ID` it goes on after that line, at any node. A comment comes every 15 seconds.',
    params: executionParams,
    query: Type.Object(
      {
        follow: Type.Optional(
          Type.Boolean({ default: false, description: 'Answer with a stream, until the execution has ended.' }),
        ),
      },
      closed,
    ),
    headers: Type.Object({
      'last-event-id': Type.Optional(LastEventId('With `follow`: the last `id` that came, up to 15 digits.', '12')),
    }),
    answers: { 200: { description: 'The lines; with `follow` a stream', schema: LogLines, streams: true } },
    errors: ['EXECUTION_NOT_FOUND', 'EXECUTION_TO_COME', 'TOO_MANY_LISTENERS', 'QUOTA_EXCEEDED'],
  }),
  explainExecution: operation({
    method: 'GET',
    path: '/v1/executions/:executionId/explain',
    tag,
    scope: 'jobs:read',
    summary: 'Why is it not running?',
    description: 'Also by the id of a one-shot that is still to come, and of a job of type AFTER: when it runs.',
    params: executionParams,
    answers: { 200: { description: 'The reasons, the first one first', schema: Explanation } },
    errors: ['EXECUTION_NOT_FOUND'],
  }),
  cancelExecutions: operation({
    method: 'POST',
    path: '/v1/executions/cancel',
    heavy: true,
    tag,
    scope: 'jobs:write',
    summary: 'Cancel many executions',
    description: 'Everything unfinished that matches, what runs included unless `state` says otherwise; newest first.',
    headers: idempotencyHeaders,
    body: BulkInput,
    answers: bulkAnswers,
    errors: [...ofIdempotency],
  }),
  retryExecutions: operation({
    method: 'POST',
    path: '/v1/executions/retry',
    heavy: true,
    tag,
    scope: 'jobs:write',
    summary: 'Bring many dead or cancelled executions back',
    description: 'Oldest first. `state` may choose between DEAD and CANCELLED.',
    headers: idempotencyHeaders,
    body: BulkInput,
    answers: bulkAnswers,
    errors: [...ofIdempotency],
  }),
  copyExecutions: operation({
    method: 'POST',
    path: '/v1/executions/copy',
    heavy: true,
    tag,
    scope: 'jobs:write',
    summary: 'Submit many executions again, as copies in another pool',
    description:
      'Oldest first, in every state but SKIPPED unless `state` chooses one; the originals are not touched. A copy is an execution of ' +
      'its own with origin SUBMIT: handler, payload, policies, priority, name and labels of the original, and the label `copiedFrom` ' +
      'with its id, if fewer than 16 are taken. Its `deadlineSec` counts anew; `startWithinSec`, dedupe key, overlap policy and ' +
      'trace are not taken over. Executions of HTTP and shell targets are skipped: nodes run those, whatever the pool.',
    headers: idempotencyHeaders,
    body: CopyInput,
    answers: bulkAnswers,
    errors: [...ofIdempotency, 'POOL_UNKNOWN'],
  }),
  listDeadLetters: operation({
    method: 'GET',
    path: '/v1/dead-letters',
    heavy: true,
    tag: 'Dead letters',
    scope: 'jobs:read',
    summary: 'List dead letters, newest first',
    description: 'Of the whole history unless `from` is given.',
    query: Type.Object(deadLetterQuery, closed),
    answers: { 200: { description: 'A page', schema: Page(Execution, 'ExecutionPage') } },
    errors: [],
  }),
  groupDeadLetters: operation({
    method: 'GET',
    path: '/v1/dead-letters/groups',
    heavy: true,
    tag: 'Dead letters',
    scope: 'jobs:read',
    summary: 'Dead letters by the error they ended with',
    description:
      'Of the whole history unless `from` is given; the newest 100,000 are counted, with `origin` or `label` the newest 20,000. `error` and `reason` of a group, in the filter of a ' +
      'replay or purge, select that group.',
    query: Type.Object(groupQuery, closed),
    answers: { 200: { description: 'The groups', schema: DeadLetterGroups } },
    errors: [],
  }),
  replayDeadLetters: operation({
    method: 'POST',
    path: '/v1/dead-letters/replay',
    heavy: true,
    tag: 'Dead letters',
    scope: 'jobs:write',
    summary: 'Replay dead letters',
    description: 'Oldest first; an empty filter means all of them.',
    headers: idempotencyHeaders,
    body: BulkInput,
    answers: bulkAnswers,
    errors: [...ofIdempotency],
  }),
  purgeDeadLetters: operation({
    method: 'POST',
    path: '/v1/dead-letters/purge',
    heavy: true,
    tag: 'Dead letters',
    scope: 'jobs:write',
    summary: 'Strike dead letters off the list',
    description:
      'Their executions stay in the ledger as DEAD until their history ends, and can still be replayed one by one.',
    headers: idempotencyHeaders,
    body: BulkInput,
    answers: bulkAnswers,
    errors: [...ofIdempotency],
  }),
  purgeDeadLetter: operation({
    method: 'DELETE',
    path: '/v1/dead-letters/:executionId',
    tag: 'Dead letters',
    scope: 'jobs:write',
    summary: 'Strike a dead letter off the list',
    description: 'Its execution stays in the ledger as DEAD, as with a purge by filter. Repeated, it changes nothing.',
    params: executionParams,
    answers: { 204: { description: 'It is not on the list' } },
    errors: ['EXECUTION_NOT_FOUND', 'STATE_CONFLICT'],
  }),
}
