/** Which pools exist. A job for one that does not is refused, with the names that come near. */
import { CarillonError, distance } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { readPoolOwners } from '../store/jobs/pools.ts'

export function requirePool(pools: ReadonlySet<string>, pool: string): void {
  if (pools.has(pool)) return
  const near = nearest(pools, pool)
  throw new CarillonError('POOL_UNKNOWN', {
    pointer: '/target/pool',
    message: `there is no pool ${pool}`,
    hint:
      near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'Start a worker that serves it, or use the pool default',
  })
}

/** A pool, once there, stays: names known are remembered, and unknown ones asked for again. */
export class KnownPools {
  readonly #database: Database
  /** Name and owner; null: the installation's. */
  #owners: ReadonlyMap<string, string | null> = new Map()
  #readAt = Number.NEGATIVE_INFINITY

  constructor(database: Database) {
    this.#database = database
  }

  /** A tenant may use the pools of the installation and its own; of the others it does not learn. */
  async require(tenant: string, pool: string): Promise<void> {
    if (!this.#owners.has(pool) || monotonicMs() - this.#readAt > 60_000) {
      this.#owners = await readPoolOwners(this.#database)
      this.#readAt = monotonicMs()
    }
    const owner = this.#owners.get(pool)
    if (owner === null || owner === tenant) return
    const usable = [...this.#owners].filter(([, owner]) => owner === null || owner === tenant)
    requirePool(new Set(usable.map(([name]) => name)), pool)
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
