import { CarillonError, type Scope } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { newApiKey } from '../../../domain/api-key.ts'
import { createKey } from '../../../store/api-keys/create.ts'
import { type Caller, created, route } from '../../route.ts'
import { platformOnly, tokenView, writing } from './view.ts'

/** A caller grants only what it has itself: scopes, and tenants it may act for. */
export const createToken = route(api.createToken, async ({ body, caller }, { database, tenants }) => {
  const { name, platform = false, expiresInSec = null } = body
  if (platform && !caller.platform) throw platformOnly()
  const scopes = [...new Set(body.scopes)]
  requireOwn(scopes, caller)
  if (!platform) await tenants.require(caller.tenant)
  const { keyId, text, hash } = newApiKey()
  const tenant = platform ? null : caller.tenant
  const row = { keyId, hash, name, tenant, scopes, expiresInSec, actor: caller.actor }
  const key = await writing(() => createKey(database, row))
  return created({ ...tokenView(key), key: text })
})

function requireOwn(scopes: readonly Scope[], caller: Caller): void {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope))
  if (missing.length === 0) return
  throw new CarillonError('SCOPE_MISSING', {
    pointer: '/scopes',
    message: `the caller lacks ${missing.join(', ')}, so it cannot give that to a token`,
    hint: `Leave it out, or use a token with the scope ${missing.join(', ')}`,
  })
}
