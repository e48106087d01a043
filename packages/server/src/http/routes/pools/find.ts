import { CarillonError } from '@carillon/contract'
import { type PoolRow, readPool } from '../../../store/pools/pools.ts'
import type { Caller } from '../../route.ts'
import type { Services } from '../../services.ts'
import { ownerOf } from '../workers/owner.ts'

/** A pool that the caller may see. Of other tenants' pools it does not learn. */
export function visiblePool(name: string, caller: Caller, { database, desk }: Services): Promise<PoolRow | null> {
  return readPool(database, { viewer: ownerOf(caller), silentMs: desk.times.suspectAfterMs, name })
}

export async function findPool(name: string, caller: Caller, services: Services): Promise<PoolRow> {
  const pool = await visiblePool(name, caller, services)
  if (pool) return pool
  throw new CarillonError('POOL_NOT_FOUND', {
    message: `there is no pool ${name}`,
    hint: 'GET /v1/pools lists those there are',
  })
}

export function notYours(name: string): CarillonError {
  return new CarillonError('POOL_NOT_YOURS', {
    pointer: '/name',
    message: `the pool ${name} belongs to somebody else`,
    hint: 'Choose another name, or use a platform token',
  })
}
