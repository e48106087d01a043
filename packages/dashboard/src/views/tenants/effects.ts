/** What a declaration changes, in sentences: they are read before it is made. */
import type { Tenant, TenantInput } from '@carillon/contract'
import { count } from '../../lib/time.ts'

export function effectsOf(tenant: Tenant | null, { weight = 1, jitterSec, description }: TenantInput): string[] {
  const before = tenant ?? { weight: 1, jitterSec: null, description: null }
  const effects: string[] = []
  if (tenant === null) {
    effects.push('Nodes that refuse tenants that are not declared take its work from now on.')
  }
  if (tenant === null || weight !== before.weight) {
    const from = tenant === null ? '' : ` instead of ${count(before.weight)}`
    effects.push(
      `Its weight is ${count(weight)}${from}: what comes in from now on is shared so, at every node within 10 seconds. What waits keeps its place.`,
    )
  }
  if ((jitterSec ?? null) !== before.jitterSec) {
    effects.push(
      jitterSec == null
        ? 'New schedules that say no jitter get none. Jobs that have it keep it.'
        : `New schedules that say no jitter are spread over ${count(jitterSec)} s, or as much as is smaller than their period. Jobs there are keep theirs.`,
    )
  }
  if ((description ?? null) !== before.description) {
    effects.push(description == null ? 'It has no description any more.' : `It is described as “${description}”.`)
  }
  return effects
}
