/** What has to be done about tenants. Reads only; asked for by files that declare some, because only platform tokens may. */
import { CarillonError, quotaNames, type Tenant, type TenantInput } from '@carillon/contract'
import type { NodeClient } from '../node-client.ts'
import { changedFields, type Difference } from './differences.ts'

/** What a file that leaves a field out says of it. */
const defaults = {
  ...{ weight: 1, description: null, jitterSec: null },
  ...Object.fromEntries(quotaNames.map((quota) => [quota, null])),
}

export type DeclaredTenant = TenantInput & { name: string }

/** Tenants that a file does not name stay: nothing says which file they belong to. */
export interface TenantPlan {
  create: DeclaredTenant[]
  change: { wanted: DeclaredTenant; tenant: Tenant; differences: Difference[] }[]
  unchanged: Tenant[]
}

export async function tenantPlanOf(node: NodeClient, tenants: readonly DeclaredTenant[]): Promise<TenantPlan> {
  const plan: TenantPlan = { create: [], change: [], unchanged: [] }
  for (const wanted of tenants) {
    const tenant = await tenantOf(node, wanted.name)
    const differences = tenant && changedFields({ ...tenant }, { ...defaults, ...wanted })
    if (!tenant || !differences) plan.create.push(wanted)
    else if (differences.length > 0) plan.change.push({ wanted, tenant, differences })
    else plan.unchanged.push(tenant)
  }
  return plan
}

/** Its body is what is said about it; its name is the address. */
export function bodyOf({ name: _, ...body }: DeclaredTenant): TenantInput {
  return body
}

async function tenantOf(node: NodeClient, name: string): Promise<Tenant | null> {
  try {
    return await node.call('getTenant', { params: { tenant: name } })
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'TENANT_NOT_FOUND') return null
    throw error
  }
}
