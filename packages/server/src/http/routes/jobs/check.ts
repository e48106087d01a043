import { CarillonError, type ErrorDetail, type JobInput } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { reservedPrefix } from '../../../domain/built-in-targets.ts'
import type { ComingJobs } from '../../../jobs/followed.ts'
import { limitNameOf } from '../../../jobs/limit-keys.ts'
import { Problems } from '../../../jobs/validate.ts'
import { eventLoopYielder } from '../../../lib/event-loop-yielder.ts'
import { definitionProblems } from '../../definition-problems.ts'
import { ok, route } from '../../route.ts'
import type { Services } from '../../services.ts'
import { reserved } from '../workers/register.ts'

const mostErrors = 1_000

/** What this node would refuse of these definitions. Nothing is created. */
export const checkJobs = route(api.checkJobs, async ({ body, caller }, services) => {
  const {
    jobs,
    pools = [],
    limits = [],
    dags = [],
  } = body as {
    jobs: unknown[]
    pools?: unknown[]
    limits?: unknown[]
    dags?: unknown[]
  }
  const errors: (ErrorDetail & { pointer: string })[] = pools.flatMap((name, at) => poolProblems(name, `/pools/${at}`))
  const coming: Coming = {
    ...{ pools: new Set(pools), limits: new Set(limits), dags: new Set(dags) },
    jobs: new Map(jobs.flatMap(followedByKey)),
  }
  const yieldIfDue = eventLoopYielder()
  for (const [at, job] of jobs.entries()) {
    const pause = yieldIfDue()
    if (pause) await pause
    const found = definitionProblems(job, services.clock.now())
    found.push(...(await placeProblems(job, caller.tenant, coming, services)))
    for (const { pointer = '', ...rest } of found) errors.push({ pointer: `/jobs/${at}${pointer}`, ...rest })
    if (errors.length > mostErrors) break
  }
  return ok({ errors: errors.slice(0, mostErrors) })
})

function poolProblems(name: unknown, pointer: string): (ErrorDetail & { pointer: string })[] {
  const problems = new Problems()
  problems.text(pointer, name, 200)
  const found = [...problems.error().errors]
  if (typeof name === 'string' && name.startsWith(reservedPrefix)) found.push(reserved(pointer))
  return found.map((problem) => ({ ...problem, pointer }))
}

/** What will be there when the jobs are created. */
interface Coming {
  pools: ReadonlySet<unknown>
  limits: ReadonlySet<unknown>
  dags: ReadonlySet<unknown>
  jobs: ComingJobs
}

function followedByKey(job: unknown): [string, string | null][] {
  const { key, type, after } = (job ?? {}) as Partial<JobInput>
  if (typeof key !== 'string') return []
  return [[key, type === 'AFTER' && typeof after?.job === 'string' ? after.job : null]]
}

/** Whether its pool, its limits, its graph and the job it follows are there, or will be, and its target allowed. */
async function placeProblems(job: unknown, tenant: string, coming: Coming, { jobs }: Services): Promise<ErrorDetail[]> {
  const input = (job ?? {}) as JobInput
  const { target, after, limits } = input
  const found: ErrorDetail[] = []
  if (typeof after?.job === 'string')
    found.push(...(await problemsOf(jobs.requireFollowed(tenant, input, { coming: coming.jobs }))))
  if (Array.isArray(limits)) {
    const asked = limits.filter((each) => typeof each === 'string' && !coming.limits.has(limitNameOf(each)))
    for (const each of asked) {
      const at = limits.indexOf(each)
      const unknown = await problemsOf(jobs.requireLimits(tenant, { limits: [each] }))
      found.push(...unknown.map((problem) => ({ ...problem, pointer: `/limits/${at}` })))
    }
  }
  if (typeof target !== 'object' || target === null) return found
  const isComing = coming.pools.has(target.pool) || (target.dag !== undefined && coming.dags.has(target.dag))
  if (!isComing) found.push(...(await problemsOf(jobs.requirePlace(tenant, { target }))))
  return found
}

async function problemsOf(check: Promise<unknown>): Promise<readonly ErrorDetail[]> {
  try {
    await check
    return []
  } catch (error) {
    if (error instanceof CarillonError && error.status < 500) return error.errors
    // A target of any shape may be here; what is wrong with its shape has been said.
    if (error instanceof TypeError) return []
    throw error
  }
}
