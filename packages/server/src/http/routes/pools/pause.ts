import { api } from '@carillon/contract/api'
import * as store from '../../../store/pools/pools.ts'
import { type Caller, ok, type Reply, route } from '../../route.ts'
import type { Services } from '../../services.ts'
import { ownerOf } from '../workers/owner.ts'
import { findPool, notYours } from './find.ts'

export const pausePool = route(api.pausePool, ({ params, caller }, services) =>
  setPaused(params.name, true, caller, services),
)

export const resumePool = route(api.resumePool, async ({ params, caller }, services) => {
  const reply = await setPaused(params.name, false, caller, services)
  services.signals.publish({ kind: 'RESUMED', pool: params.name })
  return reply
})

/** The installation's pools are the operator's to pause. */
async function setPaused(name: string, paused: boolean, caller: Caller, services: Services): Promise<Reply> {
  const pool = await findPool(name, caller, services)
  const owner = ownerOf(caller)
  if (owner !== null && pool.tenant !== owner) throw notYours(name)
  await store.pausePool(services.database, { name, paused, actor: caller.actor })
  return ok({ ...pool, paused })
}
