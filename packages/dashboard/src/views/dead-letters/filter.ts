/** Which dead letters the address asks for. */
import type { DeadLetterGroups, ExecutionFilter } from '@carillon/contract'
import type { Filters } from '../../lib/filters.ts'
import { boundsOf } from '../../lib/ranges.ts'

export type Group = DeadLetterGroups['groups'][number]

export const filterNames = ['jobId', 'handler', 'pool', 'range', 'from', 'to'] as const
export const usualRange = 'all'

/** The part of the address that selects dead letters. */
export function questionOf(filters: Filters): Filters {
  return Object.fromEntries([...filterNames, 'group'].map((name) => [name, filters[name]]))
}

export function filterOf(filters: Filters, now: Date): ExecutionFilter {
  const { jobId, handler, pool } = filters
  return { jobId, handler, pool, ...boundsOf(filters, usualRange, now), ...groupFilterOf(filters.group) }
}

/** `ATTEMPTS_USED_UP:TypeError`; without an error, `DEADLINE:`. */
export function nameOf({ reason, error }: Pick<Group, 'reason' | 'error'>): string {
  return `${reason}:${error ?? ''}`
}

/** An empty error asks for those that ended without one. */
export function groupFilterOf(group: string | undefined): { reason?: string; error?: string } {
  if (group === undefined) return {}
  const colon = group.indexOf(':')
  return colon < 0 ? { reason: group } : { reason: group.slice(0, colon), error: group.slice(colon + 1).slice(0, 200) }
}
