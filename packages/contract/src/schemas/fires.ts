/** When a schedule fires: what is asked, and the answer. */
import { type Static, Type } from 'typebox'
import { clockChangeEffects, jobStates } from '../words.ts'
import { JobInput } from './job.ts'
import { byType } from './job-types.ts'
import { closed, Described, Instant, Nullable, ShownAs, Text, Word } from './scalars.ts'

export const howMany = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 1_000, default: 10, description: 'At most this many times.' }),
)
const { runAt, schedule, interval, anchor, timezone, dst, dayFields, startAt, endAt } = JobInput.properties
const previewFields = {
  type: Word(['CRON', 'INTERVAL', 'ONE_SHOT'], { description: 'Which kind of schedule.' }),
  ...{ runAt, schedule, interval, anchor, timezone, dst, dayFields, startAt, endAt },
  after: Type.Optional(Described(Instant, 'Times after this one. Left out: from now on.')),
  count: howMany,
}
export const PreviewInput = ShownAs(
  Type.Object(previewFields, closed),
  byType(previewFields, {
    title: 'PreviewInput',
    withTime: true,
    names: { CRON: 'CronPreview', INTERVAL: 'IntervalPreview', ONE_SHOT: 'OneShotPreview' },
    description: 'A schedule, by `type`.',
  }),
)
export type PreviewInput = Static<typeof PreviewInput>

export const Fires = Type.Object(
  {
    timezone: Text('The time zone in which the schedule is read.'),
    fires: Type.Array(
      Type.Object(
        {
          scheduledFor: Described(Instant, 'The nominal time.'),
          dueAt: Described(Instant, 'When it is due: the nominal time and its jitter.'),
          local: Text('The nominal time on the clock of the zone, with the offset of that day.'),
          dst: Nullable(
            Word(['SHIFTED', 'FIRST', 'SECOND'], {
              description:
                'SHIFTED: its wall-clock time does not exist that day, and it was moved. FIRST, SECOND: its wall-clock ' +
                'time exists twice that day.',
            }),
          ),
        },
        closed,
      ),
      { description: 'In the order of time.' },
    ),
    clockChanges: Type.Array(
      Type.Object(
        {
          at: Described(Instant, 'When the clock of the zone is changed.'),
          effect: Word(clockChangeEffects, {
            description:
              'What becomes of times that the schedule names. They do not exist that day: SHIFTED (moved), MERGED (moved ' +
              'onto a time that fires anyway), SKIPPED (they do not run). They come twice that day and run at the FIRST, ' +
              'at the SECOND, or at BOTH.',
          }),
          local: Text('The first of these times on the clock of the zone.', { examples: ['2030-03-10T02:30:00'] }),
          count: Type.Integer({ description: 'How many such times there are.' }),
        },
        closed,
      ),
      { description: 'The changes of the clock among these times that touch the schedule.' },
    ),
  },
  { ...closed, title: 'Fires', description: 'When a schedule fires.' },
)
export type Fires = Static<typeof Fires>

const { properties: fires } = Fires
export const NextFires = Type.Object(
  {
    state: Word(jobStates, {
      description:
        'Of the job. Only an ACTIVE job fires: those of a PAUSED one are the times it would fire at if resumed now.',
    }),
    ...fires,
  },
  { ...closed, title: 'NextFires', description: 'When a job fires.' },
)
