/** What tenants used, and what they have unfinished at this moment. */
import type { UsageFigures } from '@carillon/contract'
import { currentTime } from '../../lib/clock.ts'
import { useAsk } from '../../lib/queries.ts'
import { shortCount } from '../../lib/time.ts'

const dayMs = 86_400_000
const usageEveryMs = 60_000
const nowEveryMs = 30_000
const most = 100

/** The beginning of the day of UTC that was this many days ago. */
export function dayAgo(days: number): string {
  const today = Math.floor(currentTime().getTime() / dayMs) * dayMs
  return new Date(today - days * dayMs).toISOString()
}

export interface Shares {
  byTenant: ReadonlyMap<string, UsageFigures>
  /** Executions of all of them. */
  ended: number
  /** There are more tenants than one answer holds. */
  isPart: boolean
}

/** Of yesterday and today, in UTC: at least one whole day. */
export function useShares(): Shares | undefined {
  const { data } = useAsk('listUsage', { query: { from: dayAgo(1), limit: 1_000 } }, { everyMs: usageEveryMs })
  if (data === undefined) return undefined
  const byTenant = new Map(data.items.map(({ tenant, total }) => [tenant, total]))
  const ended = data.items.reduce((sum, { total }) => sum + total.ended, 0)
  return { byTenant, ended, isPart: data.nextCursor !== null }
}

type Unfinished = 'RUNNING' | 'PENDING' | 'FAILED'

/** How many executions of the tenant are in a state; counted up to a hundred. Undefined: not known yet, or not found in one look. */
export function useUnfinished(tenant: string, state: Unfinished): string | undefined {
  const { data } = useAsk(
    'listExecutions',
    { query: { state, limit: most, from: dayAgo(30) }, headers: { 'carillon-tenant': tenant } },
    { everyMs: nowEveryMs },
  )
  if (data === undefined || (data.items.length === 0 && data.nextCursor !== null)) return undefined
  return `${shortCount(data.items.length)}${data.nextCursor === null ? '' : '+'}`
}
