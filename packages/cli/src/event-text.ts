/** An event in words. */
import type { Event } from '@carillon/contract'
import { printable } from './table.ts'
import { absolute, duration } from './times.ts'

/** What it is about: a job or a run by its name, an execution by its handler. */
export function subjectOf({ detail, jobId }: Event): string {
  return printable(detail.name ?? detail.handler ?? jobId)
}

/** The state it tells of, such as SUCCEEDED; of an attempt that is followed by another, how it ended. */
export function stateOf({ type, detail }: Event): string {
  return type === 'execution.retrying' ? (detail.outcome ?? 'PENDING') : type.split('.')[1]!.toUpperCase()
}

export function detailsOf({ type, detail }: Event): string {
  const { startedAt, dueAt, durationMs, attempt = 0, error, reason, count, nextFireAt, actor } = detail
  const ended = startedAt !== undefined && dueAt !== undefined
  const parts = [
    ended && `${duration(Date.parse(startedAt) - Date.parse(dueAt))} late`,
    durationMs !== undefined && `took ${duration(durationMs)}`,
    (attempt > 1 || type === 'execution.failed' || type === 'execution.retrying') && attempt > 0 && `try ${attempt}`,
    error && printable(`${error.name}: ${error.message}`),
    reason && printable(reason),
    count !== undefined && count > 1 && (type.startsWith('dag_run.') ? `${count} steps` : `${count} in a row`),
    type === 'execution.retrying' && 'is tried again',
    nextFireAt && `next ${absolute(nextFireAt)}`,
    actor && `by ${printable(actor)}`,
  ]
  return parts.filter(Boolean).join(', ')
}
