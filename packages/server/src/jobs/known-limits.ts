/** Which limits executions may name. A job that names one that is not declared is refused, with the names that come near. */
import { CarillonError, type ErrorDetail, nearestOf } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import { ExpiringMap } from '../lib/expiring-map.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { readKeyLimits } from '../store/limits/declared.ts'
import { limitNameOf } from './limit-keys.ts'

/** How long a limit that was declared is taken to be. Names that are not known are asked for again. */
const knownMs = 5_000
const mostTenants = 10_000

/** The limits for keys that tenants may name: their own, and the installation's. Other tenants' limits are invisible. */
export class KnownLimits {
  readonly #database: Database
  #known = new ExpiringMap<string, ReadonlySet<string>>(mostTenants)

  constructor({ database, signals }: { database: Database; signals: Signals }) {
    this.#database = database
    signals.subscribe(({ kind }) => {
      if (kind === 'TENANTS') this.#known = new ExpiringMap(mostTenants)
    })
  }

  /** Throws LIMIT_UNKNOWN. Null: every name is known. */
  require(tenant: string, asked: readonly string[]): Promise<void> | null {
    const known = this.#known.get(tenant, monotonicMs())
    if (known && asked.every((each) => known.has(limitNameOf(each)))) return null
    return this.#read(tenant, asked)
  }

  async #read(tenant: string, asked: readonly string[]): Promise<void> {
    const known = this.#known
    const until = monotonicMs() + knownMs
    const names = await readKeyLimits(this.#database, tenant)
    known.set(tenant, names, until)
    requireLimits(names, asked)
  }
}

export function requireLimits(names: ReadonlySet<string>, asked: readonly string[]): void {
  const problems = asked.flatMap((each, i): ErrorDetail[] => {
    const name = limitNameOf(each)
    if (names.has(name)) return []
    const near = nearestOf(name, [...names])
    const hint = near === null ? 'Declare it: carillon limits put' : `Did you mean ${near}?`
    return [{ pointer: `/limits/${i}`, message: `there is no limit ${name} for keys`, hint }]
  })
  if (problems.length > 0) throw new CarillonError('LIMIT_UNKNOWN', problems)
}
