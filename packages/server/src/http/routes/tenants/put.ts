import { CarillonError, type Quotas, quotaNames } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import * as store from '../../../store/tenants/tenants.ts'
import { everyTenant } from '../../auth/caller.ts'
import { etagOf, versionOf } from '../../if-match.ts'
import { created, ok, route } from '../../route.ts'
import { tenantMismatch } from './get.ts'

export const putTenant = route(api.putTenant, async ({ params, headers, body, caller }, { database, signals }) => {
  const { weight = 1, description = null, jitterSec = null } = body
  const name = params.tenant
  if (name === everyTenant) throw reservedName()
  const version = versionOf(headers) ?? null
  const quotas = Object.fromEntries(quotaNames.map((quota) => [quota, body[quota] ?? null])) as Quotas
  const put = { name, weight, description, jitterSec, ...quotas, version, actor: caller.actor }
  const { verdict, tenant } = await store.putTenant(database, put)
  if (verdict === 'MISMATCH') throw tenantMismatch(tenant?.version ?? null, version!)
  if (verdict !== 'UNCHANGED') signals.publish({ kind: 'TENANTS' })
  const etag = etagOf(tenant!.version)
  return verdict === 'CREATED' ? created(tenant!, etag) : ok(tenant!, etag)
})

function reservedName(): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/tenant',
    message: `${everyTenant} stands for all tenants in tokens`,
    hint: 'Choose another name',
  })
}
