import { type Static, Type } from 'typebox'
import { findingKinds, findingReasons } from '../words.ts'
import { closed, Instant, Nullable, Uuid, Word } from './scalars.ts'

export const Finding = Type.Object(
  {
    kind: Word(findingKinds),
    why: Word(findingReasons, {
      description:
        'NO_ROW: nothing in the ledger stands for it. OVERDUE: long after its time its schedule still stands before it. ' +
        'WRONG_ID: a row under another id than the one of its job and time. NOT_SCHEDULED: it fired at a time at which the ' +
        'job had no occurrence. PAUSED: it fired though the job was paused.',
    }),
    jobId: Uuid,
    scheduledFor: Instant,
    executionId: Type.String({
      format: 'uuid',
      description: 'Of the row; of one that is missing, the id it would have.',
    }),
  },
  { ...closed, title: 'Finding' },
)
export type Finding = Static<typeof Finding>

const Count = (description: string) => Type.Integer({ minimum: 0, description })

/** A part of the comparison of the ledger with the schedules. The parts are added up by whoever asks. */
export const Verification = Type.Object(
  {
    from: Instant,
    to: Type.Unsafe<string>({ ...Instant, description: 'Exclusive, and never in the future.' }),
    checked: Type.Object({ jobs: Count('Jobs.'), occurrences: Count('Occurrences.') }, closed),
    missed: Count('Occurrences that did not happen, and of which nothing says why.'),
    doubled: Count('Rows that are one too many.'),
    late: Type.Object(
      { count: Count('Fired later than `lateAfterMs` after they were due.'), worstMs: Type.Number() },
      closed,
    ),
    skipped: Type.Record(Type.String(), Type.Integer(), {
      description: 'Occurrences that did not run, by reason. DELETED: their job was deleted before they fired.',
      examples: [{ PAUSED: 3 }],
    }),
    pending: Count('Due and about to fire.'),
    outsideHistory: Type.Object(
      {
        before: Nullable(Type.Unsafe<string>({ ...Instant, description: 'Nothing is kept of what lies before.' })),
        jobs: Count('Jobs that changed before changes were kept, or whose schedule can no longer be computed.'),
      },
      { ...closed, description: 'What cannot be said anything about.' },
    ),
    findings: Type.Array(Finding, { description: 'At most `limit`; `missed` and `doubled` count all.' }),
    nextCursor: Nullable(Type.String()),
  },
  { ...closed, title: 'Verification' },
)
export type Verification = Static<typeof Verification>
