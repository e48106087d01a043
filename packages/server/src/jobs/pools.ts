/** Which pools exist. A job for one that does not is refused, with the names that come near. */
import { CarillonError, distance } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { readPoolKeys } from '../store/jobs/pools.ts'

export function requirePool(pools: ReadonlySet<string>, pool: string, pointer = '/target/pool'): void {
  if (pools.has(pool)) return
  const near = nearest(pools, pool)
  throw new CarillonError('POOL_UNKNOWN', {
    pointer,
    message: `there is no pool ${pool}`,
    hint:
      near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'Start a worker that serves it, or use the pool default',
  })
}

/** How long a pool that was there is taken to be there. Names that are not known are asked for again. */
const knownMs = 5_000
/** Tenants whose pools are remembered. */
const mostTenants = 10_000

/** The pools that tenants may use: their own, and the installation's. Other tenants' pools are invisible. */
export class KnownPools {
  readonly #database: Database
  readonly #known = new Map<string, { readAt: number; keys: ReadonlyMap<string, string> }>()

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * What the queue tables call the pool: the tenant's own, else the installation's. Throws POOL_UNKNOWN; `pointer` says where in the
   * request the pool is.
   */
  async require(tenant: string, pool: string, pointer?: string): Promise<string> {
    const known = this.#known.get(tenant)
    const fresh = known && monotonicMs() - known.readAt < knownMs ? known.keys.get(pool) : undefined
    if (fresh !== undefined) return fresh
    if (this.#known.size >= mostTenants) this.#known.clear()
    const keys = await readPoolKeys(this.#database, tenant)
    this.#known.set(tenant, { readAt: monotonicMs(), keys })
    requirePool(new Set(keys.keys()), pool, pointer)
    return keys.get(pool)!
  }
}

const mostNamed = 5
/** Letters compared with letters: enough for thousands of ordinary names, and a few milliseconds for any. */
const mostCompared = 500_000

function nearest(pools: ReadonlySet<string>, pool: string): string[] {
  const allowed = Math.max(2, pool.length / 3)
  const near: string[] = []
  let compared = 0
  for (const name of pools) {
    if (Math.abs(name.length - pool.length) > allowed) continue
    compared += name.length * pool.length
    if (compared > mostCompared || near.length === mostNamed) break
    if (distance(name, pool) <= allowed) near.push(name)
  }
  return near
}
