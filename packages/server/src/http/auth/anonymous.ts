/**
 * Zero set-up: no tokens, every client that reaches the node may do everything. `Carillon-Tenant` chooses the tenant.
 *
 * What reaches a loopback address is not only the programs of this machine: a web page in its browser may send requests
 * there too, from its own origin or under a name that it made to resolve to 127.0.0.1. Those are refused.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { scopes } from '@carillon/contract'
import { isLoopback } from '../../config/loopback.ts'
import type { Caller } from '../route.ts'
import type { Authenticator } from './authenticator.ts'
import { actingFor, callerOf, everyTenant } from './caller.ts'
import { unauthenticated } from './refusals.ts'

const anybody: Caller = callerOf({ tenant: everyTenant, scopes, actor: 'anonymous' })

/** `loopbackOnly`: the node listens on loopback, so no other name can be meant. */
export function anonymousAuthenticator({ loopbackOnly }: { loopbackOnly: boolean }): Authenticator {
  return {
    tokens: false,
    admit({ method, headers }) {
      if (loopbackOnly) requireLoopbackName(headers)
      requireSameOrigin(headers)
      requireSameSite(method, headers)
    },
    authenticate(headers) {
      return actingFor(anybody, headers)
    },
  }
}

function requireLoopbackName({ host = '' }: IncomingHttpHeaders): void {
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  if (isLoopback(name)) return
  throw unauthenticated('without tokens this node answers to localhost and 127.0.0.1 only', 'Turn auth on')
}

function requireSameOrigin({ host, origin }: IncomingHttpHeaders): void {
  if (origin === undefined) return
  if (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()) return
  throw unauthenticated('without tokens this node answers no page of another origin', 'Turn auth on')
}

/** Browsers say where a request comes from; programs send nothing. Following a link to a page is harmless. */
function requireSameSite(method: string | undefined, headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  if (isLink && method === 'GET') return
  throw unauthenticated('without tokens this node answers no page of another site', 'Turn auth on')
}
