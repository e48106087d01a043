import { deleteTenant } from './delete.ts'
import { getTenant } from './get.ts'
import { listTenants } from './list.ts'
import { putTenant } from './put.ts'

export const tenantsRoutes = { listTenants, getTenant, putTenant, deleteTenant }
