/** When a schedule fires: what is asked, and the answer. */
import { Type } from 'typebox'
import { JobInput } from './job.ts'
import { byType } from './job-types.ts'
import { closed, Described, Instant, Nullable, ShownAs, Text, Word } from './scalars.ts'

export const howMany = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 1_000, default: 10, description: 'At most this many times.' }),
)
const { schedule, interval, anchor, timezone, dst, startAt, endAt } = JobInput.properties
const previewFields = {
  type: Word(['CRON', 'INTERVAL'], { description: 'Which kind of schedule.' }),
  ...{ schedule, interval, anchor, timezone, dst, startAt, endAt },
  after: Type.Optional(Described(Instant, 'Times after this one. Left out: from now on.')),
  count: howMany,
}
export const PreviewInput = ShownAs(
  Type.Object(previewFields, closed),
  byType(previewFields, {
    title: 'PreviewInput',
    names: { CRON: 'CronPreview', INTERVAL: 'IntervalPreview' },
    description: 'A schedule, by `type`.',
  }),
)

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
  },
  { ...closed, title: 'Fires', description: 'When a schedule fires.' },
)
