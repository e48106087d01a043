/** The life of an execution as spans of time, one after another: lateness, waiting, attempts. */
import type { Execution, TimelineEntry } from '@carillon/contract'

export type SpanKind = 'LATE' | 'WAIT' | 'ATTEMPT' | 'ENDED'

export interface Span {
  kind: SpanKind
  name: string
  /** Milliseconds since 1970. */
  from: number
  to: number
  /** It goes on now. */
  isOpen: boolean
  /** How an attempt ended, or RUNNING. */
  state?: string
  about?: string
}

export function spansOf(execution: Execution, now: number): Span[] {
  const due = ms(execution.dueAt)
  const fired = Math.max(due, ms(execution.firedAt))
  const spans: Span[] = []
  const add = (span: Omit<Span, 'isOpen'> & { isOpen?: boolean }) => {
    if (span.to > span.from || span.kind === 'ATTEMPT' || span.isOpen) spans.push({ isOpen: false, ...span })
  }
  add({ kind: 'LATE', name: 'Late to fire', from: due, to: fired })
  let at = fired
  let wait = 'Waiting for a worker'
  const attempt = (entry: TimelineEntry, from: number, to: number, more: { state: string; isOpen?: boolean }) => {
    add({ kind: 'WAIT', name: wait, from: at, to: from })
    const about = entry.error && `${entry.error.name}: ${entry.error.message}`
    // What was handed back used no attempt.
    const name = entry.to === 'HANDED_BACK' ? 'Handed back' : `Attempt ${entry.attempt}`
    add({ kind: 'ATTEMPT', name, from, to, ...more, ...(about && { about }) })
    at = to
    wait = entry.to === 'HANDED_BACK' ? 'Waiting for a worker' : 'Waiting to be retried'
  }
  for (const [i, entry] of execution.timeline.entries()) {
    const when = ms(entry.at)
    if (entry.to === 'RUNNING') {
      const next = execution.timeline.slice(i + 1).find(({ to }) => to !== 'DEFERRED')
      if (next) attempt(entry, when, ms(next.at), { state: next.to })
      else attempt(entry, when, Math.max(when, now), { state: 'RUNNING', isOpen: true })
    } else if (entry.startedAt !== undefined && entry.attempt !== undefined) {
      const isLast = execution.timeline[i + 1]?.to === 'DEAD'
      attempt(entry, Math.max(at, ms(entry.startedAt)), when, { state: isLast ? 'DEAD' : entry.to })
    } else if (entry.to === 'PENDING' && entry.reason !== undefined) {
      const about = entry.actor && `Brought back by ${entry.actor}`
      add({ kind: 'ENDED', name: 'Ended', from: at, to: when, ...(about && { about }) })
      at = when
      wait = 'Waiting for a worker'
    }
  }
  const end = execution.finishedAt === null ? null : ms(execution.finishedAt)
  if (end !== null && end > at) add({ kind: 'WAIT', name: wait, from: at, to: end })
  if (end === null && spans.at(-1)?.isOpen !== true) {
    add({ kind: 'WAIT', name: wait, from: at, to: Math.max(at, now), isOpen: true })
  }
  return spans
}

function ms(at: string): number {
  return new Date(at).getTime()
}
