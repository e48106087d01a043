import { deleteTenant } from './delete.ts'
import { getTenant } from './get.ts'
import { listTenants } from './list.ts'
import { putTenant } from './put.ts'
import { getTenantUsage, getUsage, listUsage } from './usage.ts'

export const tenantsRoutes = {
  listTenants,
  getTenant,
  putTenant,
  deleteTenant,
  getTenantUsage,
  getUsage,
  listUsage,
}
