import { Type } from 'typebox'
import { Limit, LimitDetail, LimitInput, LimitName } from '../schemas/limit.ts'
import { closed } from '../schemas/scalars.ts'
import { ifMatchHeaders } from './jobs.ts'
import { ofLimit } from './links.ts'
import { operation } from './operation.ts'
import { Page, pageFields } from './pages.ts'

const tag = 'Limits'
const params = Type.Object({ limit: LimitName }, closed)

export const limitOperations = {
  listLimits: operation({
    method: 'GET',
    path: '/v1/limits',
    tag,
    scope: 'jobs:read',
    summary: 'List limits, by name',
    description:
      'Of a tenant’s token its own, of a platform token those of the installation, or of the tenant that `Carillon-Tenant` names.',
    query: Type.Object(pageFields, closed),
    answers: { 200: { description: 'A page', schema: Page(Limit, 'LimitPage') } },
    errors: [],
  }),
  getLimit: operation({
    method: 'GET',
    path: '/v1/limits/:limit',
    heavy: true,
    tag,
    scope: 'jobs:read',
    summary: 'Read a limit, and how much of it is used',
    params,
    answers: { 200: { description: 'The limit', schema: LimitDetail, links: ofLimit } },
    errors: ['LIMIT_NOT_FOUND'],
  }),
  putLimit: operation({
    method: 'PUT',
    path: '/v1/limits/:limit',
    tag,
    scope: 'admin',
    summary: 'Declare a limit, or change it',
    description:
      'Of a tenant’s token it counts the executions of that tenant; of a platform token those of all tenants together, or of ' +
      'the tenant that `Carillon-Tenant` names.',
    params,
    headers: ifMatchHeaders,
    body: LimitInput,
    answers: {
      201: { description: 'Declared', schema: Limit, links: ofLimit },
      200: { description: 'As it is now', schema: Limit, links: ofLimit },
    },
    errors: ['VERSION_MISMATCH', 'POOL_UNKNOWN', 'TENANT_UNDECLARED'],
  }),
  deleteLimit: operation({
    method: 'DELETE',
    path: '/v1/limits/:limit',
    tag,
    scope: 'admin',
    summary: 'Delete a limit',
    description: 'What waits for it starts. Jobs that name it keep the name, and are not limited by it any more.',
    params,
    headers: ifMatchHeaders,
    answers: { 204: { description: 'Deleted' } },
    errors: ['LIMIT_NOT_FOUND', 'VERSION_MISMATCH'],
  }),
}
