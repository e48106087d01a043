import { type Static, Type } from 'typebox'
import { ranges } from '../ranges.ts'
import { limitScopes } from '../words.ts'
import { Count, closed, Described, Instant, Integer, Name, Nullable, plainText, Text, Word } from './scalars.ts'

/** Without a colon, which ends the name where a job or a submission names a limit. */
export const LimitName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000-\\u001f\\u007f:]+$',
  format: plainText.format,
  description: 'The name of the limit.',
})

const words = {
  for: 'What has a count of its own: each key that executions name, each job, handler, pool or tenant.',
  of: 'The one job, handler, pool or tenant that it is for; null: each of them.',
  concurrency: 'How many executions may be ready or running at once. 0: none starts.',
  rate: 'How many executions may start in a time; null: any number.',
  count: 'How many executions.',
  perSec: 'In how many seconds. They start evenly: 100 in 10 s are one every 0.1 s.',
  description: 'What it is, for people.',
}

export const LimitRate = Type.Object(
  {
    count: Integer(ranges.limitRateCount, { description: words.count }),
    perSec: Integer(ranges.limitRatePerSec, { description: words.perSec }),
  },
  { ...closed, title: 'LimitRate', description: words.rate },
)

export const LimitInput = Type.Object(
  {
    for: Type.Optional(Word(limitScopes, { default: 'KEY', description: words.for })),
    of: Type.Optional(
      Nullable(
        Described(
          Name,
          'Only this job (by id or key), handler, pool or tenant. Left out, each has a count of its own. Not with KEY.',
        ),
      ),
    ),
    concurrency: Type.Optional(Nullable(Integer(ranges.limitConcurrency, { description: words.concurrency }))),
    rate: Type.Optional(Nullable(LimitRate)),
    description: Type.Optional(
      Nullable(Type.String({ minLength: 1, maxLength: 1_000, ...plainText, description: words.description })),
    ),
  },
  {
    ...closed,
    title: 'LimitInput',
    description: 'A limit. It has `concurrency` or `rate`, or both; what is left out has its default.',
  },
)
export type LimitInput = Static<typeof LimitInput>

const fields = {
  name: Text('The name of the limit.'),
  tenant: Nullable(Text('The tenant whose executions it counts; null: those of all tenants together.')),
  for: Word(limitScopes, { description: words.for }),
  of: Nullable(Text(`${words.of} Of a job, its id.`)),
  concurrency: Nullable(Type.Integer({ description: `${words.concurrency} Null: any number.` })),
  rate: Nullable(LimitRate),
  description: Nullable(Text(words.description)),
  version: Type.Integer({ description: 'Grows with every change; the ETag.' }),
  createdAt: Described(Instant, 'When it was declared.'),
  updatedAt: Described(Instant, 'When it was changed last.'),
}

export const Limit = Type.Object(fields, {
  ...closed,
  title: 'Limit',
  description: 'A limit of concurrency, of rate, or of both.',
})
export type Limit = Static<typeof Limit>

export const LimitUsage = Type.Object(
  {
    key: Text('What is counted: the key, or the job, handler, pool or tenant.'),
    taken: Count('Executions that are ready or running.'),
    waiting: Count('Executions that wait for this limit; counted up to 1,000.'),
  },
  { ...closed, title: 'LimitUsage', description: 'How much of a limit is used.' },
)
export type LimitUsage = Static<typeof LimitUsage>

export const LimitDetail = Type.Object(
  {
    ...fields,
    usage: Type.Array(LimitUsage, {
      description: 'At most 20: what most executions wait for, then what most slots are taken of.',
    }),
  },
  { ...closed, title: 'LimitDetail', description: 'A limit, and how much of it is used.' },
)
export type LimitDetail = Static<typeof LimitDetail>
