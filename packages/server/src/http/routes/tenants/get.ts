import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { readTenant } from '../../../store/tenants/tenants.ts'
import { etagOf } from '../../if-match.ts'
import { ok, route } from '../../route.ts'

export const getTenant = route(api.getTenant, async ({ params }, { database }) => {
  const tenant = await readTenant(database, params.tenant)
  if (!tenant) throw tenantNotFound(params.tenant)
  return ok(tenant, etagOf(tenant.version))
})

export function tenantNotFound(name: string): CarillonError {
  return new CarillonError('TENANT_NOT_FOUND', {
    message: `the tenant ${name} is not declared`,
    hint: 'GET /v1/tenants lists those that are',
  })
}

export function tenantMismatch(current: number | null, asked: number): CarillonError {
  const now = current === null ? 'is not declared' : `is at version ${current}`
  return new CarillonError('VERSION_MISMATCH', {
    message: `the tenant ${now}, not at version ${asked}`,
    hint: 'Read it again and repeat the change on what it is now',
  })
}
