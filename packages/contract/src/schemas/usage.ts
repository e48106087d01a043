import { type Static, Type } from 'typebox'
import { Count, closed, Described, Instant, Text } from './scalars.ts'

const figures = {
  ended: Count(
    'Executions that ended: SUCCEEDED, DEAD or CANCELLED. One that was replayed and ended again counts again.',
  ),
  succeeded: Count('Executions that SUCCEEDED.'),
  dead: Count('Executions that became dead letters.'),
  cancelled: Count('Executions that were CANCELLED, also before they started.'),
  attempts: Count('Attempts that ended and had begun.'),
  failed: Count('Attempts that failed, timed out or lost their worker; those that are tried again included.'),
  runMs: Count('How long these attempts took, added up, in milliseconds: from start to outcome, as workers report it.'),
}

export const UsageFigures = Type.Object(figures, {
  ...closed,
  title: 'UsageFigures',
  description: 'What a tenant used in a time.',
})
export type UsageFigures = Static<typeof UsageFigures>

const PoolUsage = Type.Object(
  {
    pool: Text('The pool; `other`: those beyond the 200 pools and handlers that a node counts apart in a minute.'),
    ...figures,
  },
  { ...closed, title: 'PoolUsage', description: 'The same, of one pool.' },
)

export const UsageDay = Type.Object(
  {
    day: Type.String({ format: 'date', description: 'The day, in UTC.', examples: ['2030-01-31'] }),
    ...figures,
    pools: Type.Optional(Type.Array(PoolUsage, { description: 'By name; only if asked for by `byPool`.' })),
  },
  {
    ...closed,
    title: 'UsageDay',
    description: 'What a tenant used on one day. What ends counts on the day on which it ends.',
  },
)
export type UsageDay = Static<typeof UsageDay>

const times = {
  from: Described(Instant, 'The first day begins then.'),
  to: Described(Instant, 'The last day ends then.'),
  until: Described(Instant, 'What happened after this may not be counted yet.'),
}

export const Usage = Type.Object(
  {
    tenant: Text('The tenant.'),
    ...times,
    total: Described(UsageFigures, 'All days together.'),
    days: Type.Array(UsageDay, { description: 'Oldest first; those on which nothing ended are left out.' }),
  },
  { ...closed, title: 'Usage', description: 'What a tenant used, by day.' },
)
export type Usage = Static<typeof Usage>

export const TenantUsage = Type.Object(
  { tenant: Text('The tenant.'), ...times, total: Described(UsageFigures, 'All days together.') },
  { ...closed, title: 'TenantUsage', description: 'What one of all tenants used.' },
)
export type TenantUsage = Static<typeof TenantUsage>
