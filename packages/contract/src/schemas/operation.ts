import { type Static, Type } from 'typebox'
import { operationKinds, operationStates } from '../words.ts'
import { ExecutionFilter } from './execution.ts'
import { Count, closed, Described, Instant, Name, Nullable, Text, Uuid, Word } from './scalars.ts'

/** An operation: bulk work or a backfill. It runs in the background on any node and survives a restart. */
export const Operation = Type.Object(
  {
    operationId: Uuid,
    kind: Word(operationKinds, { description: 'What it does to each execution.' }),
    state: Word(operationStates, { description: 'Whether it is still under way.' }),
    total: Nullable(Type.Integer({ description: 'Null while it is not known.' })),
    done: Type.Integer({ description: 'Executions it changed, or with COPY created, so far.' }),
    skipped: Type.Integer({
      description: 'Examined and left alone: their state had changed, or with COPY their target is a built-in one.',
    }),
    ratePerSec: Nullable(Type.Number({ description: 'At most this many a second; null: no bound.' })),
    createdBy: Text('The caller who asked for it.'),
    createdAt: Described(Instant, 'When it was asked for.'),
    finishedAt: Nullable(Described(Instant, 'When it ended.')),
    error: Nullable(Text('Why it FAILED.')),
  },
  { ...closed, title: 'Operation', description: 'Long work that goes on by itself, on any node.' },
)
export type Operation = Static<typeof Operation>

const rate = Type.Optional(Type.Number({ minimum: 0.1, maximum: 100_000, description: 'At most this many a second.' }))
const dryRun = Type.Optional(Type.Boolean({ default: false, description: 'Only count what it would touch.' }))

export const BulkInput = Type.Object(
  { filter: ExecutionFilter, ratePerSec: rate, dryRun },
  { ...closed, title: 'BulkInput', description: 'Which executions, and how fast.' },
)
export type BulkInput = Static<typeof BulkInput>

export const CopyInput = Type.Object(
  {
    filter: ExecutionFilter,
    pool: Described(Name, 'The pool that the copies go to: one of the tenant or of the installation.'),
    ratePerSec: rate,
    dryRun,
  },
  { ...closed, title: 'CopyInput', description: 'Which executions, into which pool, and how fast.' },
)
export type CopyInput = Static<typeof CopyInput>

export const BackfillInput = Type.Object(
  {
    from: Described(Instant, 'The first instant that is filled.'),
    to: Described(Instant, 'Exclusive.'),
    includeSkipped: Type.Optional(
      Type.Boolean({ default: false, description: 'Also run what is recorded as SKIPPED.' }),
    ),
    concurrency: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 10, description: 'At most this many unfinished at once.' }),
    ),
    ratePerSec: rate,
    dryRun,
  },
  { ...closed, title: 'BackfillInput', description: 'Which occurrences to run, and how fast.' },
)
export type BackfillInput = Static<typeof BackfillInput>

export const DryRun = Type.Object(
  {
    count: Count('Executions it would touch.'),
    exact: Type.Boolean({ description: 'False: there are more than were counted.' }),
  },
  { ...closed, title: 'DryRun', description: 'What the operation would do.' },
)
export type DryRun = Static<typeof DryRun>
