import type { EventTypeFilter } from '@carillon/contract'
import type { EventRow } from '../store/events/read.ts'

/** Which events a listener is told. */
export function wanted(
  types: readonly EventTypeFilter[] | undefined,
  jobId: string | undefined,
): (event: EventRow) => boolean {
  const matches = (type: string) =>
    types!.some((filter) => filter === type || (filter.endsWith('*') && type.startsWith(filter.slice(0, -1))))
  return (event) =>
    (jobId === undefined || event.jobId === jobId) && (types === undefined || types.length === 0 || matches(event.type))
}
