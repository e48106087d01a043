/** Ranges of time in an address: `range=1h`, or `from` and `to`. */
import type { Filters } from './filters.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

export const quickRanges: readonly { name: string; words: string; ms: number }[] = [
  { name: '15m', words: 'Last 15 minutes', ms: 15 * minuteMs },
  { name: '1h', words: 'Last hour', ms: 60 * minuteMs },
  { name: '24h', words: 'Last 24 hours', ms: dayMs },
  { name: '7d', words: 'Last 7 days', ms: 7 * dayMs },
  { name: '30d', words: 'Last 30 days', ms: 30 * dayMs },
]

/** `all` is the whole history; `exact` is `from` and `to`. */
export function rangeOf(filters: Filters, usual: string): string {
  return filters.range ?? (filters.from !== undefined || filters.to !== undefined ? 'exact' : usual)
}

/** What the node is asked for. */
export function boundsOf(filters: Filters, usual: string, now: Date): { from?: string; to?: string } {
  const range = rangeOf(filters, usual)
  const quick = quickRanges.find(({ name }) => name === range)
  if (quick) return { from: new Date(now.getTime() - quick.ms).toISOString() }
  if (range === 'exact') return { from: filters.from, to: filters.to }
  return {}
}
