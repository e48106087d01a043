import { type Static, Type } from 'typebox'
import { Count, closed, Described, Instant, Nullable, Text, Word } from './scalars.ts'

export const statsSteps = ['MINUTE', 'HOUR'] as const

/** Quantiles are estimates from buckets: right to about 10 %. */
export const Spread = Type.Object(
  {
    count: Count('How many were measured.'),
    meanMs: Nullable(Type.Number({ description: 'Their mean, in milliseconds; null: none were measured.' })),
    p50Ms: Nullable(Type.Number({ description: 'Half were not longer.' })),
    p95Ms: Nullable(Type.Number({ description: '95 % were not longer.' })),
    p99Ms: Nullable(Type.Number({ description: '99 % were not longer.' })),
    maxMs: Nullable(Type.Number({ description: 'The longest.' })),
  },
  { ...closed, title: 'Spread', description: 'How long something took; quantiles are right to about 10 %.' },
)
export type Spread = Static<typeof Spread>

const figures = {
  created: Count('Executions that came into being: fired, triggered, submitted, backfilled.'),
  started: Count('Attempts that workers took.'),
  succeeded: Count('Executions that SUCCEEDED.'),
  failed: Count('Attempts that failed, timed out or lost their worker; those that are tried again included.'),
  retried: Count('Attempts that followed another one.'),
  dead: Count('Executions that became dead letters.'),
  cancelled: Count('Executions that were CANCELLED.'),
  skipped: Count('Executions that were SKIPPED; occurrences that were skipped in a row are one.'),
  onTime: Count('Scheduled executions that fired within 1 s of their due time.'),
  lateness: Described(Spread, 'From the due time to the firing, of scheduled executions.'),
  pickUp: Described(Spread, 'From the due time, of a submission its acceptance, to the lease of the first attempt.'),
  duration: Described(Spread, 'From the start of an attempt to its outcome.'),
}

export const StatsFigures = Type.Object(figures, {
  ...closed,
  title: 'StatsFigures',
  description: 'What happened in a time.',
})
export type StatsFigures = Static<typeof StatsFigures>

export const StatsBucket = Type.Object(
  { at: Described(Instant, 'It begins then.'), ...figures },
  { ...closed, title: 'StatsBucket', description: 'What happened in one minute or hour.' },
)
export type StatsBucket = Static<typeof StatsBucket>

const groups = { ...closed, description: 'The same, of one of them; the 50 with the most attempts.' }

export const Stats = Type.Object(
  {
    from: Described(Instant, 'The first bucket begins then.'),
    to: Described(Instant, 'The last bucket ends then.'),
    step: Word(statsSteps, { description: 'How long a bucket is.' }),
    until: Described(Instant, 'What happened after this may not be counted yet.'),
    total: Described(StatsFigures, 'All buckets together.'),
    buckets: Type.Array(StatsBucket, { description: 'Oldest first; those in which nothing happened are left out.' }),
    pools: Type.Array(Type.Object({ pool: Text('The pool.'), ...figures }, groups), {
      description: 'By pool, the one with the most attempts first.',
    }),
    handlers: Type.Array(Type.Object({ handler: Text('The handler.'), ...figures }, groups), {
      description: 'By handler, the one with the most attempts first.',
    }),
  },
  { ...closed, title: 'Stats', description: 'What happened, by minute or by hour.' },
)
export type Stats = Static<typeof Stats>
