import { type Static, Type } from 'typebox'
import { ranges } from '../ranges.ts'
import { closed, Described, Instant, Integer, Nullable, plainText, Text } from './scalars.ts'

const weight =
  'Its share where tenants wait for the same workers: one of weight 3 starts three executions for each one of weight 1.'

const jitterSec =
  'Jitter of its jobs of type CRON and INTERVAL that say none: settled when their schedule is defined, and kept. A job whose period is ' +
  'not longer gets as much as is smaller.'

export const Tenant = Type.Object(
  {
    name: Text('The name of the tenant.'),
    weight: Type.Integer({ description: weight }),
    description: Nullable(Text('What it is, for people.')),
    jitterSec: Nullable(Type.Integer({ description: `${jitterSec} Null: none.` })),
    version: Type.Integer({ description: 'Grows with every change; the ETag.' }),
    createdAt: Described(Instant, 'When it was declared.'),
    updatedAt: Described(Instant, 'When it was changed last.'),
  },
  { ...closed, title: 'Tenant', description: 'A tenant that was declared.' },
)
export type Tenant = Static<typeof Tenant>

export const TenantInput = Type.Object(
  {
    weight: Type.Optional(Integer(ranges.tenantWeight, { default: 1, description: weight })),
    description: Type.Optional(
      Nullable(Type.String({ minLength: 1, maxLength: 1_000, ...plainText, description: 'What it is, for people.' })),
    ),
    jitterSec: Type.Optional(Nullable(Integer(ranges.tenantJitterSec, { description: `${jitterSec} Null: none.` }))),
  },
  {
    ...closed,
    title: 'TenantInput',
    description: 'What is declared about a tenant. What is left out has its default.',
  },
)
export type TenantInput = Static<typeof TenantInput>
