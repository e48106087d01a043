/** Which runs the address asks for. Names are those of the API. */
import type { DagRunSummary } from '@carillon/contract'
import type { Filters } from '../../lib/filters.ts'
import { boundsOf } from '../../lib/ranges.ts'
import { labelsOf } from '../jobs/labels.tsx'

export const filterNames = ['state', 'dagId', 'label', 'range', 'from', 'to'] as const
export const usualRange = 'all'

export function questionOf(filters: Filters): Filters {
  return Object.fromEntries(filterNames.map((name) => [name, filters[name]]))
}

export function isFiltered(filters: Filters): boolean {
  return filterNames.some((name) => filters[name] !== undefined)
}

export function queryOf(filters: Filters, now: Date) {
  const { state, dagId, label } = filters
  return {
    ...boundsOf(filters, usualRange, now),
    state: state as DagRunSummary['state'] | undefined,
    dagId,
    ...(label !== undefined && { label: labelsOf(label) }),
  }
}
