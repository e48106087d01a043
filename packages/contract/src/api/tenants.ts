import { Type } from 'typebox'
import { closed, Described, Instant, Name } from '../schemas/scalars.ts'
import { Tenant, TenantInput } from '../schemas/tenant.ts'
import { TenantUsage, Usage } from '../schemas/usage.ts'
import { ifMatchHeaders } from './jobs.ts'
import { ofTenant } from './links.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Tenants'
const params = Type.Object({ tenant: Described(Name, 'The name of the tenant.') }, closed)

const days = {
  from: Type.Optional(
    Described(
      Instant,
      'The day that holds this is the first one; 30 days before `to`, if left out. Days are kept for 400 days.',
    ),
  ),
  to: Type.Optional(Described(Instant, 'Exclusive; now, if left out or later. A day that has begun by then is whole.')),
}
const byPool = Type.Optional(
  Type.Boolean({ default: false, description: 'Also by pool; for at most 100 days at once.' }),
)
const counted =
  'As nodes have counted it. Days are those of UTC. What a node that died had not written is missing; nothing is counted twice.'

export const tenantOperations = {
  listTenants: operation({
    method: 'GET',
    path: '/v1/tenants',
    tag,
    scope: 'admin',
    platform: true,
    summary: 'List the tenants that are declared, by name',
    query: Type.Object(pageFields, closed),
    answers: { 200: { description: 'A page', schema: Page(Tenant, 'TenantPage') } },
    errors: [],
  }),
  getTenant: operation({
    method: 'GET',
    path: '/v1/tenants/:tenant',
    tag,
    scope: 'admin',
    platform: true,
    summary: 'Read what is declared about a tenant',
    params,
    answers: { 200: { description: 'The tenant', schema: Tenant, links: ofTenant } },
    errors: ['TENANT_NOT_FOUND'],
  }),
  putTenant: operation({
    method: 'PUT',
    path: '/v1/tenants/:tenant',
    tag,
    scope: 'admin',
    platform: true,
    summary: 'Declare a tenant, or change what is declared',
    params,
    headers: ifMatchHeaders,
    body: TenantInput,
    answers: {
      201: { description: 'Declared', schema: Tenant, links: ofTenant },
      200: { description: 'As it is now', schema: Tenant, links: ofTenant },
    },
    errors: ['VERSION_MISMATCH'],
  }),
  deleteTenant: operation({
    method: 'DELETE',
    path: '/v1/tenants/:tenant',
    heavy: true,
    tag,
    scope: 'admin',
    platform: true,
    summary: 'Take back the declaration of a tenant that has nothing any more',
    description:
      'Refused while it has jobs, graphs, unfinished executions, pools of its own or valid API keys. Its history stays.',
    params,
    headers: ifMatchHeaders,
    answers: { 204: { description: 'Removed' } },
    errors: ['TENANT_NOT_FOUND', 'VERSION_MISMATCH', 'STATE_CONFLICT'],
  }),
  getTenantUsage: operation({
    method: 'GET',
    path: '/v1/tenants/:tenant/usage',
    heavy: true,
    tag,
    scope: 'admin',
    platform: true,
    summary: 'What a tenant used, by day',
    description: `${counted} The tenant need not be declared.`,
    params,
    query: Type.Object({ ...days, byPool }, closed),
    answers: { 200: { description: 'The figures', schema: Usage } },
    errors: ['TIME_OUT_OF_RANGE'],
  }),
  getUsage: operation({
    method: 'GET',
    path: '/v1/usage',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'What your tenant used, by day',
    description: counted,
    query: Type.Object({ ...days, byPool }, closed),
    answers: { 200: { description: 'The figures', schema: Usage } },
    errors: ['TIME_OUT_OF_RANGE'],
  }),
  listUsage: operation({
    method: 'GET',
    path: '/v1/usage/tenants',
    heavy: true,
    tag,
    scope: 'admin',
    platform: true,
    summary: 'What each tenant used in a range of days, by name',
    description: `${counted} Tenants that used nothing are left out.`,
    query: Type.Object({ ...days, ...pageFields }, closed),
    answers: { 200: { description: 'A page', schema: Page(TenantUsage, 'TenantUsagePage') } },
    errors: ['TIME_OUT_OF_RANGE'],
  }),
}
