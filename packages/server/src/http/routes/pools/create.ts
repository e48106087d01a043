import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { reservedPrefix } from '../../../domain/built-in-targets.ts'
import * as store from '../../../store/pools/pools.ts'
import { tooManyPools } from '../../../workers/known-workers.ts'
import { created, ok, route } from '../../route.ts'
import { ownerOf } from '../workers/owner.ts'
import { reserved } from '../workers/register.ts'
import { findPool, notYours } from './find.ts'

/** A tenant's token creates the tenant's pools, a platform token the installation's. */
export const createPool = route(api.createPool, async ({ body, caller }, services) => {
  const { name } = body
  const { database, tenants, workerSessions } = services
  if (name.startsWith(reservedPrefix)) throw new CarillonError('VALIDATION', reserved('/name'))
  const owner = ownerOf(caller)
  if (owner !== null) await tenants.require(owner)
  const wanted = { name, tenant: owner, actor: caller.actor, maxPools: workerSessions.maxPools }
  const claimed = await store.createPool(database, wanted)
  if ('foreign' in claimed) throw notYours(name)
  if ('limit' in claimed) throw tooManyPools(database, claimed.limit)
  const { pool } = await findPool(name, caller, services)
  return claimed.born > 0 ? created(pool) : ok(pool)
})
