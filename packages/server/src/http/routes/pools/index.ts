import { createPool } from './create.ts'
import { listPools } from './list.ts'
import { pausePool, resumePool } from './pause.ts'
import { scalePool } from './scale.ts'

export const poolsRoutes = { listPools, createPool, pausePool, resumePool, scalePool }
