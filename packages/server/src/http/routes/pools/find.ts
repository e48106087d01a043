import { CarillonError } from '@carillon/contract'
import { type FoundPool, readPool } from '../../../store/pools/pools.ts'
import type { Caller } from '../../route.ts'
import type { Services } from '../../services.ts'

/** What the name means to the tenant that the caller acts for. Of other tenants' pools it does not learn. */
export async function findPool(
  name: string,
  caller: Caller,
  { database, workerSessions }: Services,
): Promise<FoundPool> {
  const pool = await readPool(database, { tenant: caller.tenant, silentMs: workerSessions.times.suspectAfterMs, name })
  if (pool) return pool
  throw new CarillonError('POOL_NOT_FOUND', {
    message: `there is no pool ${name}`,
    hint: 'GET /v1/pools lists those there are',
  })
}

/** As `findPool`; a tenant's token changes its own pools only. */
export async function changeablePool(name: string, caller: Caller, services: Services): Promise<FoundPool> {
  const found = await findPool(name, caller, services)
  if (!caller.platform && found.pool.tenant !== caller.tenant) throw notYours(name)
  return found
}

export function notYours(name: string): CarillonError {
  return new CarillonError('POOL_NOT_YOURS', {
    pointer: '/name',
    message: `the pool ${name} belongs to the installation`,
    hint: 'Choose another name, or use a platform token',
  })
}
