/** A node that asks for API keys, and tenants that have one. */
import { createApiKey } from '@carillon/server/administration'
import { type Asked, type HttpNode, httpNode } from '../../support/http-node.ts'

export type Requester = (what: string, body?: unknown, headers?: Record<string, string>) => Promise<Asked>

export interface Guarded {
  node: HttpNode
  /** What a tenant sends with each request. */
  headersOf(tenant: string): Promise<{ authorization: string }>
  tenant(name: string): Promise<Requester>
  [Symbol.asyncDispose](): Promise<void>
}

export async function guarded(settings: Parameters<typeof httpNode>[0] = {}): Promise<Guarded> {
  const node = await httpNode({ auth: {}, ...settings })
  const headersOf = async (tenant: string) => {
    const scopes = ['jobs:read', 'jobs:write', 'work', 'admin'] as const
    const { key } = await createApiKey(node.databaseUrl, { name: tenant, tenant, scopes })
    return { authorization: `Bearer ${key}` }
  }
  return {
    node,
    headersOf,
    async tenant(name) {
      const own = await headersOf(name)
      return (what, body, headers) => node.ask(what, body, { ...own, ...headers })
    },
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  }
}

export const oneShot = { type: 'ONE_SHOT', target: { handler: 'h' } } as const

export function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
