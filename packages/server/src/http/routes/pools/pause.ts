import { api, type Pool } from '@carillon/contract/api'
import * as store from '../../../store/pools/pools.ts'
import { type Caller, ok, type Reply, route } from '../../route.ts'
import type { Services } from '../../services.ts'
import { changeablePool } from './find.ts'

export const pausePool = route(api.pausePool, ({ params, caller }, services) =>
  setPaused(params.name, true, caller, services),
)

export const resumePool = route(api.resumePool, ({ params, caller }, services) =>
  setPaused(params.name, false, caller, services),
)

/** The installation's pools are the operator's to pause. */
async function setPaused(name: string, paused: boolean, caller: Caller, services: Services): Promise<Reply<Pool>> {
  const { key, pool } = await changeablePool(name, caller, services)
  await store.pausePool(services.database, { key, paused, actor: caller.actor })
  if (!paused) services.signals.publish({ kind: 'RESUMED', pool: key })
  return ok({ ...pool, paused })
}
