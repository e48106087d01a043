import { type Static, Type } from 'typebox'
import { quarantineSources } from '../words.ts'
import { closed, Instant, Json, Nullable, Uuid, Word } from './scalars.ts'

/** A quarantined row: it cannot be processed, and is kept apart so that the others can. */
export const QuarantinedRow = Type.Object(
  {
    quarantineId: Type.Integer({ description: 'What `release` and `discard` take.' }),
    source: Word(quarantineSources, { description: 'The table it was in.' }),
    key: Type.Record(Type.String(), Json, { description: 'Its primary key there.' }),
    tenant: Nullable(Type.String({ description: 'Null if neither the row nor the ledger says.' })),
    executionId: Nullable(Type.Unsafe<string>({ ...Uuid, description: 'The execution it is about.' })),
    jobId: Nullable(Type.Unsafe<string>({ ...Uuid, description: 'The job it is about.' })),
    call: Type.String({ description: 'What failed because of it.' }),
    code: Type.String({ description: 'The SQLSTATE, or the name of the error.' }),
    message: Type.String({ description: 'The error in words.' }),
    at: Type.Unsafe<string>({ ...Instant, description: 'When it was quarantined.' }),
    row: Type.Unsafe<unknown>({ ...Json, description: 'The row as it was; null if it stayed in its table.' }),
  },
  {
    ...closed,
    title: 'QuarantinedRow',
    description: 'A row that cannot be processed, kept apart so that the others can.',
  },
)
export type QuarantinedRow = Static<typeof QuarantinedRow>
