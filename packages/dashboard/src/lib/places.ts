/** The views: their addresses, their keys, and what a caller must be allowed to see them. */
import type { Scope } from '@carillon/contract'
import type { Me } from '@carillon/contract/api'

export interface Place {
  path: string
  name: string
  /** After `g`. */
  letter: string
  scope: Scope
  /** Only platform tokens. */
  platform?: true
  about: string
  /** Where the addresses of its details begin, if not with its own. */
  details?: string
}

export const places: readonly Place[] = [
  { path: '/', name: 'Now', letter: 'n', scope: 'jobs:read', about: 'What is happening' },
  { path: '/ahead', name: 'Ahead', letter: 'a', scope: 'jobs:read', about: 'What will fire, and where it collides' },
  { path: '/jobs', name: 'Jobs', letter: 'j', scope: 'jobs:read', about: 'Schedules and definitions' },
  { path: '/executions', name: 'Executions', letter: 'e', scope: 'jobs:read', about: 'Every run' },
  {
    path: '/dags',
    name: 'DAGs',
    letter: 'g',
    scope: 'jobs:read',
    about: 'DAGs and their runs',
    details: '/dag-runs/',
  },
  { path: '/dead-letters', name: 'Dead letters', letter: 'd', scope: 'jobs:read', about: 'What failed for good' },
  { path: '/workers', name: 'Workers', letter: 'w', scope: 'jobs:read', about: 'Workers, pools and nodes' },
  { path: '/proof', name: 'Proof', letter: 'p', scope: 'jobs:read', about: 'What verification has found' },
  { path: '/tenants', name: 'Tenants', letter: 's', scope: 'admin', platform: true, about: 'Shares and usage' },
  { path: '/audit', name: 'Audit', letter: 'u', scope: 'admin', about: 'Who did what' },
  { path: '/tokens', name: 'Tokens', letter: 't', scope: 'admin', about: 'API keys' },
]

/** Those that this caller may see. */
export function placesOf({ scopes, tenant }: Me): readonly Place[] {
  return places.filter(({ scope, platform }) => scopes.includes(scope) && (!platform || tenant === null))
}
