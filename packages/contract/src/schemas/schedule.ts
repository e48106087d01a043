/** When a job fires, and what becomes of occurrences that are late or meet each other. */
import { Type } from 'typebox'
import { defaults, limits } from '../defaults.ts'
import { ranges } from '../ranges.ts'
import {
  dayFieldPolicies,
  dstGaps,
  dstOverlaps,
  followedEnds,
  jobTypes,
  misfirePolicies,
  overlapPolicies,
} from '../words.ts'
import { closed, Described, Instant, InstantOrLocal, Integer, Name, Word } from './scalars.ts'

export const DstPolicy = Type.Object(
  {
    gap: Type.Optional(
      Word(dstGaps, {
        default: defaults.dst.gap,
        description: 'What an occurrence does whose wall-clock time does not exist that day.',
      }),
    ),
    overlap: Type.Optional(
      Word(dstOverlaps, {
        default: defaults.dst.overlap,
        description: 'Which one fires if its wall-clock time exists twice that day.',
      }),
    ),
  },
  { ...closed, title: 'DstPolicy', description: 'What a schedule does when the clocks change.' },
)

export const After = Type.Object(
  {
    job: Described(Name, 'The job it follows: its id or its key.'),
    on: Type.Optional(
      Word(followedEnds, {
        default: 'SUCCEEDED',
        description: 'How an execution of that job has to end. FAILED: it is DEAD or CANCELLED. ENDED: any of these.',
      }),
    ),
  },
  { ...closed, title: 'After', description: 'AFTER: the executions that it follows.' },
)

/** When a job fires: exactly one of the time fields, by type (job-types.ts). */
export const scheduleFields = {
  type: Word(jobTypes, {
    description: 'When the job fires: once, after a delay, by cron, at an interval, or after another job.',
  }),
  after: Type.Optional(After),
  runAt: Type.Optional(InstantOrLocal),
  delayMs: Type.Optional(Integer(ranges.delayMs, { description: 'DELAYED: milliseconds from now until it runs.' })),
  schedule: Type.Optional(
    Type.String({
      maxLength: limits.scheduleLength,
      description: 'CRON: 5 or 6 fields, or `@hourly` and the like. docs/schedules.md has the grammar.',
      examples: ['0 3 * * *'],
    }),
  ),
  interval: Type.Optional(
    Type.String({ maxLength: 100, description: 'INTERVAL: an ISO 8601 duration.', examples: ['PT15M'] }),
  ),
  anchor: Type.Optional(
    Described(
      Instant,
      'INTERVAL: the instant that the intervals are counted from. Left out: when the job was created.',
    ),
  ),
  timezone: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      default: defaults.timezone,
      description: 'IANA time zone in which the schedule is read.',
      examples: ['America/Los_Angeles'],
    }),
  ),
  dst: Type.Optional(DstPolicy),
  dayFields: Type.Optional(
    Word(dayFieldPolicies, {
      default: defaults.dayFields,
      description: 'CRON with both day fields restricted: a day fires if EITHER of them matches, or only if BOTH do.',
    }),
  ),
  startAt: Type.Optional(Described(Instant, 'Occurrences before this instant do not fire.')),
  endAt: Type.Optional(Described(Instant, 'Occurrences at or after this instant do not fire.')),
  maxFires: Type.Optional(Integer(ranges.maxFires, { description: 'After this many fires the job is COMPLETED.' })),
  jitterSec: Type.Optional(
    Integer(ranges.jitterSec, {
      description:
        'Delays every occurrence by a fixed offset of the job, smaller than this many seconds, to spread equal schedules.',
    }),
  ),
  misfire: Type.Optional(
    Word(misfirePolicies, {
      default: defaults.misfire,
      description: 'What happens to occurrences that no node could fire in time: one run for all, one each, or none.',
    }),
  ),
  misfireAfterSec: Type.Optional(
    Integer(ranges.misfireAfterSec, {
      default: defaults.misfireAfterSec,
      description: 'An occurrence this many seconds late counts as missed, and `misfire` decides.',
    }),
  ),
  maxCatchUp: Type.Optional(
    Integer(ranges.maxCatchUp, {
      default: defaults.maxCatchUp,
      description: 'With FIRE_ALL: at most this many missed occurrences run, the latest ones.',
    }),
  ),
  graceSec: Type.Optional(
    Integer(ranges.graceSec, { description: 'Missed occurrences older than this many seconds are skipped.' }),
  ),
  overlap: Type.Optional(
    Word(overlapPolicies, {
      default: defaults.overlap,
      description: 'What happens when an occurrence is due while an execution of the job is unfinished.',
    }),
  ),
  pauseAfterFailures: Type.Optional(
    Integer(ranges.pauseAfterFailures, { description: 'This many dead executions in a row pause the job.' }),
  ),
}
