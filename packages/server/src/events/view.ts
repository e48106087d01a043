/** Events as the contract shows them. */
import type { Event, EventDetail } from '@carillon/contract'
import type { EventRow } from '../store/events/read.ts'

/** In details they are milliseconds. */
const times = ['nextFireAt', 'scheduledFor', 'dueAt', 'startedAt', 'retryAt'] as const

export function eventView({ eventId, type, at, tenant, jobId, executionId, detail }: EventRow): Event {
  const shown = { ...detail } as Record<string, unknown>
  for (const name of times) if (isTime(shown[name])) shown[name] = iso(shown[name])
  return {
    ...{ eventId, type, at: iso(at), tenant, jobId },
    ...(executionId !== null && { executionId }),
    detail: shown as EventDetail,
  }
}

/** A row written by hand may hold anything: it is shown as it is. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
