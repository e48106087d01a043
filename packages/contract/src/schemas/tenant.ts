import { type Static, Type } from 'typebox'
import { type QuotaName, quotaRange } from '../quotas.ts'
import { ranges } from '../ranges.ts'
import { closed, Described, Instant, Integer, Nullable, plainText, Text } from './scalars.ts'

const weight =
  'Its share where tenants wait for the same workers: one of weight 3 starts three executions for each one of weight 1.'

const jitterSec =
  'Jitter of its jobs of type CRON and INTERVAL that say none: settled when their schedule is defined, and kept. A job whose period is ' +
  'not longer gets as much as is smaller.'

const quotas = {
  maxJobs: 'How many jobs may be at rest: active or paused. Work that runs once and is due now is no job at rest.',
  submissionsPerSec:
    'How many jobs, submissions and runs may be created a second, over all nodes; each item of a batch counts.',
  maxPools: 'How many pools of its own it may have, instead of what the installation allows.',
  maxWorkers: 'How many workers may be registered with its tokens at the same time.',
  maxIdempotencyKeys: 'How many Idempotency-Keys may be remembered; one is for 24 hours.',
  maxEventStreams: 'How many streams of events and of log lines may be open at one node.',
} satisfies Record<QuotaName, string>

const shownQuota = (quota: QuotaName) => Nullable(Type.Integer({ description: `${quotas[quota]} Null: no quota.` }))
const quotaInput = (quota: QuotaName) =>
  Type.Optional(Nullable(Integer(quotaRange(quota), { description: `${quotas[quota]} Null: no quota.` })))

export const Tenant = Type.Object(
  {
    name: Text('The name of the tenant.'),
    weight: Type.Integer({ description: weight }),
    description: Nullable(Text('What it is, for people.')),
    jitterSec: Nullable(Type.Integer({ description: `${jitterSec} Null: none.` })),
    maxJobs: shownQuota('maxJobs'),
    submissionsPerSec: shownQuota('submissionsPerSec'),
    maxPools: shownQuota('maxPools'),
    maxWorkers: shownQuota('maxWorkers'),
    maxIdempotencyKeys: shownQuota('maxIdempotencyKeys'),
    maxEventStreams: shownQuota('maxEventStreams'),
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
    maxJobs: quotaInput('maxJobs'),
    submissionsPerSec: quotaInput('submissionsPerSec'),
    maxPools: quotaInput('maxPools'),
    maxWorkers: quotaInput('maxWorkers'),
    maxIdempotencyKeys: quotaInput('maxIdempotencyKeys'),
    maxEventStreams: quotaInput('maxEventStreams'),
  },
  {
    ...closed,
    title: 'TenantInput',
    description: 'What is declared about a tenant. What is left out has its default.',
  },
)
export type TenantInput = Static<typeof TenantInput>
