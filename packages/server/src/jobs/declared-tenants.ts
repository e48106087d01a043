/** Whether a tenant may bring something new. Asked only where the operator refuses tenants that are not declared. */
import { CarillonError } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import { ExpiringMap } from '../lib/expiring-map.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { isDeclared } from '../store/tenants/tenants.ts'

/** How long a tenant that was declared is taken to be. One that was not is asked for again. */
const knownMs = 10_000
const mostTenants = 10_000

export class DeclaredTenants {
  readonly #database: Database
  readonly #refuse: boolean
  #known = new ExpiringMap<string, true>(mostTenants)

  constructor(options: { database: Database; signals: Signals; undeclared: 'accept' | 'refuse' }) {
    this.#database = options.database
    this.#refuse = options.undeclared === 'refuse'
    options.signals.subscribe(({ kind }) => {
      if (kind === 'TENANTS') this.#known = new ExpiringMap(mostTenants)
    })
  }

  /** Throws TENANT_UNDECLARED. */
  require(tenant: string): Promise<void> | undefined {
    if (!this.#refuse || this.#known.get(tenant, monotonicMs())) return undefined
    return this.#read(tenant)
  }

  async #read(tenant: string): Promise<void> {
    const known = this.#known
    const until = monotonicMs() + knownMs
    if (!(await isDeclared(this.#database, tenant))) throw undeclared(tenant)
    known.set(tenant, true, until)
  }
}

function undeclared(tenant: string): CarillonError {
  return new CarillonError('TENANT_UNDECLARED', {
    message: `the tenant ${tenant} is not declared`,
    hint: 'Check its name, or have the operator declare it: carillon tenants put',
  })
}
