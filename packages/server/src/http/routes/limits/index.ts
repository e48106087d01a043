import { deleteLimit } from './delete.ts'
import { getLimit } from './get.ts'
import { listLimits } from './list.ts'
import { putLimit } from './put.ts'

export const limitsRoutes = { listLimits, getLimit, putLimit, deleteLimit }
