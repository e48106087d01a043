import { CarillonError, type ErrorDetail, type LimitInput } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { requirePool } from '../../../jobs/pools.ts'
import type { Signals } from '../../../signals/port.ts'
import { readPoolKeys } from '../../../store/jobs/pools.ts'
import * as store from '../../../store/limits/declared.ts'
import { etagOf, versionOf } from '../../if-match.ts'
import { limitProblems } from '../../limit-problems.ts'
import { type Caller, created, ok, route } from '../../route.ts'
import type { Services } from '../../services.ts'
import { limitMismatch } from './get.ts'
import { limitOwner } from './owner.ts'

export const putLimit = route(api.putLimit, async ({ params, headers, body, caller }, services) => {
  const { database, signals, tenants } = services
  const { for: scope = 'KEY', concurrency = null, rate = null, description = null } = body
  const owner = limitOwner(caller)
  const problems = problemsOf(body, owner)
  if (problems.length > 0) throw new CarillonError('VALIDATION', problems)
  if (owner !== null) await tenants.require(owner)
  const subject = await subjectOf(body, caller, services)
  const version = versionOf(headers) ?? null
  const { verdict, limit } = await store.putLimit(database, {
    ...{ owner, name: params.limit, for: scope, subject, concurrency, rate, description, version },
    actor: caller.actor,
  })
  if (verdict === 'MISMATCH') throw limitMismatch(limit?.version ?? null, version!)
  if (verdict !== 'UNCHANGED') tellOfLimits(signals)
  const etag = etagOf(limit!.version)
  return verdict === 'CREATED' ? created(limit!, etag) : ok(limit!, etag)
})

/** Nodes read what is declared again, and look at what waits. */
export function tellOfLimits(signals: Signals): void {
  signals.publish({ kind: 'TENANTS' })
  signals.publish({ kind: 'SLOTS' })
}

/** What the schema cannot say. */
function problemsOf(body: LimitInput, owner: store.LimitOwner): ErrorDetail[] {
  const problems = limitProblems(body)
  if (body.for === 'TENANT' && owner !== null)
    problems.push({
      pointer: '/for',
      message: 'a limit for TENANT belongs to the installation',
      hint: 'Use a platform token without Carillon-Tenant; a limit of a tenant counts that tenant only',
    })
  return problems
}

/** What executions have, which is not always what people say. */
async function subjectOf(body: LimitInput, caller: Caller, { database }: Services): Promise<string | null> {
  const { for: scope = 'KEY', of = null } = body
  const owner = limitOwner(caller)
  if (of === null) return null
  if (scope === 'POOL') {
    // The installation has no tenant whose pools it could mean.
    const pools = await readPoolKeys(database, owner ?? '')
    requirePool(new Set(pools.keys()), of, '/of')
    return pools.get(of)!
  }
  if (scope !== 'JOB') return of
  const jobId = await store.readLimitedJob(database, { owner, tenant: caller.tenant, job: of })
  if (jobId !== null) return jobId
  throw new CarillonError('VALIDATION', {
    pointer: '/of',
    message: `there is no job ${of}`,
    hint: 'Give its id or its key; check the tenant',
  })
}
