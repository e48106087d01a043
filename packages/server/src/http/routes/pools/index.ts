import { createPool } from './create.ts'
import { deletePool } from './delete.ts'
import { listPools } from './list.ts'
import { getLoad } from './load.ts'
import { pausePool, resumePool } from './pause.ts'
import { scalePool } from './scale.ts'

export const poolsRoutes = { listPools, createPool, deletePool, pausePool, resumePool, scalePool, getLoad }
