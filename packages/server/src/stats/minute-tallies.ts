/** The tallies of one minute at one node, by tenant, pool and handler. */
import { poolName } from '../domain/pool-key.ts'
import type { Work } from '../observability/activity.ts'
import { other } from '../observability/families.ts'
import { Tally } from './tally.ts'

/** Of a tenant and of all; what comes after them is counted as `other`. */
const mostOfTenant = 200
const mostInAll = 20_000

/** Empty texts: of all pools, of all handlers. */
export interface TallyRow {
  tenant: string
  pool: string
  handler: string
  tally: Tally
}

interface Kept {
  tally: Tally
  changed: boolean
}

interface OfTenant {
  /** By name of the pool, by handler. */
  pools: Map<string, Map<string, Kept>>
  size: number
}

export class MinuteTallies {
  readonly #tenants = new Map<string, OfTenant>()
  #size = 0

  get hasChanged(): boolean {
    for (const { pools } of this.#tenants.values()) {
      for (const handlers of pools.values()) for (const { changed } of handlers.values()) if (changed) return true
    }
    return false
  }

  of({ tenant, pool: key, handler }: Work): Tally {
    const pool = poolName(key)
    let known = this.#tenants.get(tenant)
    if (known === undefined) {
      known = { pools: new Map(), size: 0 }
      this.#tenants.set(tenant, known)
    }
    const kept = known.pools.get(pool)?.get(handler)
    if (kept !== undefined) {
      kept.changed = true
      return kept.tally
    }
    if ((known.size >= mostOfTenant || this.#size >= mostInAll) && handler !== other) {
      return this.of({ tenant, pool: other, handler: other })
    }
    const tally = new Tally()
    const handlers = known.pools.get(pool) ?? new Map<string, Kept>()
    known.pools.set(pool, handlers.set(handler, { tally, changed: true }))
    known.size++
    this.#size++
    return tally
  }

  /** What has changed since it was last asked for, with the sums it belongs to. */
  takeChanged(): TallyRow[] {
    const rows: TallyRow[] = []
    for (const [tenant, { pools }] of this.#tenants) {
      const all = new Tally()
      let changedOfTenant = false
      for (const [pool, tallies] of pools) {
        const ofPool = new Tally()
        let changedOfPool = false
        for (const [handler, kept] of tallies) {
          ofPool.add(kept.tally)
          if (!kept.changed) continue
          kept.changed = false
          changedOfPool = true
          rows.push({ tenant, pool, handler, tally: kept.tally })
        }
        all.add(ofPool)
        if (!changedOfPool) continue
        changedOfTenant = true
        rows.push({ tenant, pool, handler: '', tally: ofPool })
      }
      if (changedOfTenant) rows.push({ tenant, pool: '', handler: '', tally: all })
    }
    return rows
  }

  /** They count as changed again. */
  notWritten(rows: readonly TallyRow[]): void {
    for (const { tenant } of rows) {
      for (const handlers of this.#tenants.get(tenant)?.pools.values() ?? []) {
        for (const kept of handlers.values()) kept.changed = true
      }
    }
  }
}
