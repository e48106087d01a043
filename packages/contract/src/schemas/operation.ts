import { type Static, Type } from 'typebox'
import { operationKinds, operationStates } from '../words.ts'
import { ExecutionFilter } from './execution.ts'
import { closed, Instant, Nullable, Uuid, Word } from './scalars.ts'

/** Long work: it goes on by itself, on whichever node, and survives a restart. */
export const Operation = Type.Object(
  {
    operationId: Uuid,
    kind: Word(operationKinds),
    state: Word(operationStates),
    total: Nullable(Type.Integer({ description: 'Null while it is not known.' })),
    done: Type.Integer(),
    skipped: Type.Integer({ description: 'Looked at and left alone: they had moved on.' }),
    ratePerSec: Nullable(Type.Number()),
    createdBy: Type.String(),
    createdAt: Instant,
    finishedAt: Nullable(Instant),
    error: Nullable(Type.String()),
  },
  { ...closed, title: 'Operation' },
)
export type Operation = Static<typeof Operation>

const rate = Type.Optional(Type.Number({ minimum: 0.1, maximum: 100_000, description: 'At most so many a second.' }))
const dryRun = Type.Optional(Type.Boolean({ default: false, description: 'Only count what it would touch.' }))

export const BulkInput = Type.Object(
  { filter: ExecutionFilter, ratePerSec: rate, dryRun },
  { ...closed, title: 'BulkInput' },
)
export type BulkInput = Static<typeof BulkInput>

export const BackfillInput = Type.Object(
  {
    from: Instant,
    to: Instant,
    includeSkipped: Type.Optional(
      Type.Boolean({ default: false, description: 'Also run what is recorded as SKIPPED.' }),
    ),
    concurrency: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, default: 10, description: 'Unfinished at once.' }),
    ),
    ratePerSec: rate,
    dryRun,
  },
  { ...closed, title: 'BackfillInput', description: '`to` is exclusive.' },
)
export type BackfillInput = Static<typeof BackfillInput>

export const DryRun = Type.Object(
  { count: Type.Integer(), exact: Type.Boolean({ description: 'False: there are more than were counted.' }) },
  { ...closed, title: 'DryRun' },
)
