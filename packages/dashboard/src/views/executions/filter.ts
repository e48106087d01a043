/** Which executions the address of the list asks for. */
import type { ExecutionFilter, ExecutionState } from '@carillon/contract'
import type { Filters } from '../../lib/filters.ts'
import { boundsOf } from '../../lib/ranges.ts'

/** Names in the address, which are those of the API. */
export const filterNames = [
  'state',
  'jobId',
  'handler',
  'pool',
  'origin',
  'error',
  'label',
  'range',
  'from',
  'to',
] as const

/** A job has its whole history; all others together have a day of it, unless more is asked for. */
export function usualRange({ jobId }: Filters): string {
  return jobId === undefined ? '24h' : 'all'
}

/** The part of the address that selects executions. */
export function questionOf(filters: Filters): Filters {
  return Object.fromEntries(filterNames.map((name) => [name, filters[name]]))
}

/** As a list takes it. The whole history has to be asked for by a time before all others. */
export function queryOf(filters: Filters, now: Date) {
  const { label } = filters
  const { from = '1970-01-01T00:00:00Z', to } = boundsOf(filters, usualRange(filters), now)
  return { ...fieldsOf(filters), from, to, ...(label !== undefined && { label: [label] }) }
}

/** As bulk work takes it. */
export function bulkFilterOf(filters: Filters, now: Date): ExecutionFilter {
  const { label } = filters
  const colon = label?.indexOf(':') ?? -1
  return {
    ...fieldsOf(filters),
    ...boundsOf(filters, usualRange(filters), now),
    ...(colon > 0 && { labels: { [label!.slice(0, colon)]: label!.slice(colon + 1) } }),
  }
}

function fieldsOf({ state, jobId, handler, pool, origin, error }: Filters): ExecutionFilter {
  return { state, jobId, handler, pool, origin, error } as ExecutionFilter
}

const ends: readonly string[] = ['SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED'] satisfies ExecutionState[]

export function isEnd(state: string): boolean {
  return ends.includes(state)
}

/** What can be brought back. */
export function isRetryable(state: string): boolean {
  return state === 'DEAD' || state === 'CANCELLED'
}
