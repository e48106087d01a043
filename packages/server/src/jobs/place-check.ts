/** Where many are asked for at once, each pool is asked for once, not once for each that wants to go there. */
import type { JobInput } from '@carillon/contract'
import type { Jobs } from './jobs.ts'
import { placeOf } from './target.ts'

/** As `Jobs.require`. Most need no await: a promise for each of ten thousand costs more than it gains. */
export function placeCheck(jobs: Pick<Jobs, 'require'>, tenant: string): (input: JobInput) => Promise<string> | string {
  const known = new Map<string, Promise<string> | string>()
  return (input) => {
    if (input.target.handler === undefined || input.type === 'AFTER' || input.limits !== undefined)
      return jobs.require(tenant, input)
    const { pool } = placeOf(input.target)
    const before = known.get(pool)
    if (before !== undefined) return before
    const asked = jobs.require(tenant, input)
    known.set(pool, asked)
    asked.then(
      (key) => known.set(pool, key),
      () => {},
    )
    return asked
  }
}
