import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { reservedPrefix } from '../../../jobs/target.ts'
import * as store from '../../../store/pools/pools.ts'
import { created, ok, route } from '../../route.ts'
import { ownerOf } from '../workers/owner.ts'
import { reserved } from '../workers/register.ts'
import { findPool, notYours, visiblePool } from './find.ts'

export const createPool = route(api.createPool, async ({ body, caller }, services) => {
  const { name } = body
  if (name.startsWith(reservedPrefix)) throw new CarillonError('VALIDATION', reserved('/name'))
  const owner = ownerOf(caller)
  if (await store.createPool(services.database, { name, tenant: owner, actor: caller.actor })) {
    return created(await findPool(name, caller, services))
  }
  const pool = await visiblePool(name, caller, services)
  if (!pool || (owner !== null && pool.tenant !== owner)) throw notYours(name)
  return ok(pool)
})
