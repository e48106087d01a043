import { api } from '@carillon/contract/api'
import { ok, route } from '../../route.ts'

export const getMe = route(api.getMe, async ({ caller, auth }, { node }) => {
  const { actor, scopes, tenant, platform } = caller
  return ok({
    name: actor,
    tenant: platform ? null : tenant,
    scopes: [...scopes],
    authentication: auth ? 'TOKEN' : 'NONE',
    node,
  })
})
