import { type Static, Type } from 'typebox'
import { ranges } from '../ranges.ts'
import { closed, Described, Instant, Integer, Nullable, plainText, Text } from './scalars.ts'

const weight =
  'Its share where tenants wait for the same workers: one of weight 3 starts three executions for each one of weight 1.'

export const Tenant = Type.Object(
  {
    name: Text('The name of the tenant.'),
    weight: Type.Integer({ description: weight }),
    description: Nullable(Text('What it is, for people.')),
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
  },
  {
    ...closed,
    title: 'TenantInput',
    description: 'What is declared about a tenant. What is left out has its default.',
  },
)
export type TenantInput = Static<typeof TenantInput>
