import { Type } from 'typebox'
import { closed, Described, Name } from '../schemas/scalars.ts'
import { Tenant, TenantInput } from '../schemas/tenant.ts'
import { ifMatchHeaders } from './jobs.ts'
import { ofTenant } from './links.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Tenants'
const params = Type.Object({ tenant: Described(Name, 'The name of the tenant.') }, closed)

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
}
