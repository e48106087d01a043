import { type Static, Type } from 'typebox'
import { findingKinds, findingReasons } from '../words.ts'
import { Count, closed, Described, Instant, Nullable, Text, Uuid, Word } from './scalars.ts'

export const Finding = Type.Object(
  {
    kind: Word(findingKinds, { description: 'Whether an execution is missing or one too many.' }),
    why: Word(findingReasons, {
      description:
        'NO_ROW: nothing in the ledger stands for it. OVERDUE: long after its time its schedule still stands before it. ' +
        'WRONG_ID: a row under another id than the one of its job and time. NOT_SCHEDULED: it fired at a time at which the ' +
        'job had no occurrence. PAUSED: it fired though the job was paused.',
    }),
    jobId: Described(Uuid, 'The job.'),
    scheduledFor: Described(Instant, 'The nominal time of the occurrence.'),
    executionId: Type.String({
      format: 'uuid',
      description: 'Of the row; of one that is missing, the id it would have.',
    }),
  },
  { ...closed, title: 'Finding', description: 'An occurrence for which the ledger is not as it should be.' },
)
export type Finding = Static<typeof Finding>

/** A part of the comparison of the ledger with the schedules. The parts are added up by whoever asks. */
export const Verification = Type.Object(
  {
    from: Described(Instant, 'The first instant that was checked.'),
    to: Described(Instant, 'Exclusive, and never in the future.'),
    checked: Type.Object(
      { jobs: Count('Jobs.'), occurrences: Count('Occurrences.') },
      { ...closed, description: 'How much was compared.' },
    ),
    missed: Count('Occurrences that did not happen, and of which nothing says why.'),
    doubled: Count('Rows that are one too many.'),
    late: Type.Object(
      {
        count: Count('Fired later than `lateAfterMs` after they were due.'),
        worstMs: Type.Number({ description: 'The longest of these delays, in milliseconds.' }),
      },
      { ...closed, description: 'Occurrences that fired late.' },
    ),
    skipped: Type.Record(Type.String(), Type.Integer(), {
      description: 'Occurrences that did not run, by reason. DELETED: their job was deleted before they fired.',
      examples: [{ PAUSED: 3 }],
    }),
    pending: Count('Due and about to fire.'),
    outsideHistory: Type.Object(
      {
        before: Nullable(Described(Instant, 'Nothing is kept of what lies before.')),
        jobs: Count('Jobs that changed before changes were kept, or whose schedule can no longer be computed.'),
      },
      { ...closed, description: 'What cannot be said anything about.' },
    ),
    findings: Type.Array(Finding, { description: 'At most `limit`; `missed` and `doubled` count all.' }),
    nextCursor: Nullable(Text('Ask again with this `cursor`; null: that was all.')),
  },
  { ...closed, title: 'Verification', description: 'One part of the comparison; the parts are added up.' },
)
export type Verification = Static<typeof Verification>
