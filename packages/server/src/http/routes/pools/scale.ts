import { api } from '@carillon/contract/api'
import { readPoolLoad } from '../../../store/pools/scaling.ts'
import { ok, route } from '../../route.ts'
import { findPool } from './find.ts'

export const scalePool = route(api.scalePool, async ({ params, caller }, services) => {
  const { key, pool } = await findPool(params.name, caller, services)
  const { name, workers, slots } = pool
  const { ready, running, oldestReadyMs } = await readPoolLoad(services.database, key)
  return ok({ name, ready, running, workers, slots, oldestReadyMs, desiredSlots: ready + running })
})
