import { type Static, Type } from 'typebox'
import { Count, closed, Described, Instant, Nullable, Text, Uuid, Word } from './scalars.ts'
import { statsSteps } from './stats.ts'

export const Forecast = Type.Object(
  {
    from: Described(Instant, 'The first bucket begins then.'),
    to: Described(Instant, 'The last bucket ends then.'),
    step: Word(statsSteps, { description: 'How long a bucket is.' }),
    computedAt: Described(Instant, 'Changes of schedules after this are not in it.'),
    jobs: Count('Jobs whose schedules were computed.'),
    leftOut: Count(
      'Jobs that were left out because their schedules could not be computed, or only at too high a cost.',
    ),
    fires: Count('Fires in all.'),
    buckets: Type.Array(
      Type.Object({ at: Described(Instant, 'It begins then.'), fires: Count('Fires in it.') }, closed),
      { description: 'Oldest first; those in which nothing fires are left out.' },
    ),
    pools: Type.Array(
      Type.Object(
        {
          pool: Text('The pool.'),
          fires: Count('Fires for it.'),
          slots: Count('Slots of its live workers.'),
          meanMs: Nullable(
            Type.Number({ description: 'Mean duration of attempts of late; null: none were measured.' }),
          ),
          buckets: Type.Array(
            Type.Object(
              {
                at: Described(Instant, 'It begins then.'),
                fires: Count('Fires in it.'),
                busy: Nullable(
                  Type.Number({ description: 'Slots that this work will use on average; null: nothing was measured.' }),
                ),
                saturated: Type.Boolean({
                  description: 'True: that is as many as there are, or more; or there are none.',
                }),
              },
              closed,
            ),
            { description: 'Oldest first; those in which nothing fires are left out.' },
          ),
        },
        closed,
      ),
      { description: 'The load that is to be expected, by pool: the 20 with the most fires.' },
    ),
    collisions: Type.Array(
      Type.Object(
        {
          at: Described(Instant, 'The second.'),
          fires: Count('Fires in it.'),
          jobs: Type.Array(Type.Object({ jobId: Uuid, name: Nullable(Text('Its name.')) }, closed), {
            description: 'Some of the jobs, at most 10.',
          }),
        },
        closed,
      ),
      {
        description:
          'The seconds in which the most jobs fire together, at most 50, by time. Jobs that fire every minute on average, or more often, are not ' +
          'counted here.',
      },
    ),
  },
  { ...closed, title: 'Forecast', description: 'What will fire, if no schedule changes.' },
)
export type Forecast = Static<typeof Forecast>
