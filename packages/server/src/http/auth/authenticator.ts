/** Who asks, and may they? */
import type { IncomingHttpHeaders } from 'node:http'
import { defaults, type Scope, scopes } from '@carillon/contract'
import type { Caller } from '../route.ts'

export interface Authenticator {
  /** Throws UNAUTHENTICATED or SCOPE_MISSING. */
  authenticate(headers: IncomingHttpHeaders, scope: Scope): Promise<Caller>
}

/** Zero set-up, on loopback only: everybody may do everything. `Carillon-Tenant` chooses the tenant. */
export const openToAll: Authenticator = {
  async authenticate(headers) {
    const tenant = headers['carillon-tenant']
    return { tenant: typeof tenant === 'string' && tenant !== '' ? tenant : defaults.tenant, ...everything }
  },
}

const everything = { platform: true, scopes: new Set(scopes), actor: 'anonymous' }
