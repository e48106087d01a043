import { type Static, Type } from 'typebox'
import { findingKinds, findingReasons } from '../words.ts'
import { Count, closed, Described, Instant, Nullable, Text, Uuid, Word } from './scalars.ts'

export const Finding = Type.Object(
  {
    kind: Word(findingKinds, {
      description:
        'MISSED: it should be in the ledger and is not. DOUBLED: it is one too many. STUCK: it should have ended, or moved on, ' +
        'and has not. WRONG: the row cannot be true.',
    }),
    why: Word(findingReasons, {
      description:
        'MISSED. NO_ROW: the ledger has no row for it. OVERDUE: long after its time its schedule has not passed it. ' +
        'NO_SCHEDULE: the job is to fire and nothing says when. ' +
        'DOUBLED. WRONG_ID: a row under another id than the one of its job and time. NOT_SCHEDULED: it fired at a time at which ' +
        'the job had no occurrence. PAUSED: it fired though the job was paused. SAME_FENCE: two rows name the same lease. ' +
        'STUCK. NO_HOLDER: it is in no queue and no worker holds it. ATTEMPT_OVERDUE: past its timeout, or silent for longer ' +
        'than it may be. WORKER_LOST: its worker has long been silent. RETRY_OVERDUE: its retry was due. START_OVERDUE: its start ' +
        'window is over. DEADLINE_PASSED: its deadline is over. WAITS_FOR_NOTHING: what it waits for has ended. NOT_FIRED: it was ' +
        'enqueued in a transaction and has not been taken up. ' +
        'WRONG. SKIP_REASON: its job cannot have skipped it for that reason. SKIP_COUNT: its count is not the number of ' +
        'occurrences it covers. SKIP_COVERS_RUN: it covers an occurrence that has a row of its own. STATE: its state ' +
        'contradicts what else is known of it. TIMES: its times cannot be. ATTEMPTS: its attempts are not those of its history. ' +
        'VERSION: it fired from a version of the job that was not current then. ROW_GONE: a queue or the list of ' +
        'endings names an execution that is not in the ledger. JOB_GONE: its job is not there any more.',
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

/** A part of the comparison of the ledger with the schedules. The caller adds up the parts. */
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
    stuck: Count('Executions that should have ended, or moved on, and have not.'),
    wrong: Count('Rows that cannot be true.'),
    lost: Type.Object(
      {
        submissions: Count('Submissions that were acknowledged and are not in the ledger.'),
        minutes: Type.Array(
          Type.Object(
            {
              minute: Described(Instant, 'The minute begins then.'),
              acknowledged: Count('Submissions due in it that nodes are known to have acknowledged.'),
              kept: Count('Submissions due in it that the ledger has.'),
            },
            closed,
          ),
          { description: 'The minutes in which some are missing, at most `limit`.' },
        ),
        commits: Type.Array(
          Type.Object(
            {
              after: Described(Instant, 'What was committed until then was kept.'),
              until: Described(Instant, 'What was committed until then is gone.'),
            },
            closed,
          ),
          {
            description:
              'Times in which the database lost what it had committed, of whatever kind, because a replica that was behind was ' +
              'promoted or an older state was restored. Nodes that lived through it found out. In the last part only.',
          },
        ),
      },
      { ...closed, description: 'What was acknowledged and is gone.' },
    ),
    open: Count('Executions that have not ended, those that are stuck included.'),
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
    findings: Type.Array(Finding, {
      description: 'At most `limit`; `missed`, `doubled`, `stuck` and `wrong` count all.',
    }),
    nextCursor: Nullable(Text('Ask again with this `cursor`; null: that was all.')),
  },
  { ...closed, title: 'Verification', description: 'One part of the comparison; the parts are added up.' },
)
export type Verification = Static<typeof Verification>

const verifiedFigures = {
  occurrences: Count('Occurrences that were compared.'),
  missed: Count('Missed.'),
  doubled: Count('Doubled.'),
  stuck: Count('Stuck.'),
  wrong: Count('Wrong.'),
  lost: Count('Acknowledged and lost.'),
  late: Count('Fired later than 1 s after they were due.'),
}

/** What the node finds by itself, minute by minute. */
export const Verified = Type.Object(
  {
    since: Nullable(Described(Instant, 'Watched from then on; null: not yet.')),
    until: Nullable(Described(Instant, 'Compared up to then; null: not yet.')),
    stuckNow: Count('Executions that are stuck now; counted up to 1,000.'),
    total: Type.Object(verifiedFigures, { ...closed, description: 'Since the installation is watched.' }),
    hours: Type.Array(Type.Object({ at: Described(Instant, 'The hour begins then.'), ...verifiedFigures }, closed), {
      description: 'Hour by hour, oldest first, at most 30 days.',
    }),
  },
  { ...closed, title: 'Verified', description: 'What continuous verification has found, in the whole installation.' },
)
export type Verified = Static<typeof Verified>
