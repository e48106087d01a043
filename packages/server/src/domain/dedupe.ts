/**
 * At most one submission stands under a dedupe key. What has started is never taken back: it stands, or it is no
 * duplicate; what has not started may be replaced by a newer one.
 */
import type { DedupeAction, DedupeState } from '@carillon/contract'

export interface DedupeRule {
  while: DedupeState
  onDuplicate: DedupeAction
  windowSec?: number
  maxWaitSec?: number
}

/** What stands under the key. Times in milliseconds. */
export interface Standing {
  /** COMING: a one-shot that has not fired. STARTED: it runs, or waits for another attempt. Null: it is gone. */
  state: 'COMING' | 'PENDING' | 'STARTED' | 'ENDED' | null
  /** When the first of those came that stood here one after the other. */
  firstAt: number
  /** Until then a newcomer is a duplicate even after the end. */
  windowUntil: number | null
}

export type DedupeDecision =
  | { verdict: 'KEPT' }
  | {
      verdict: 'NEW' | 'REPLACED' | 'DEBOUNCED'
      /** When the newcomer runs. */
      runAt: number
      firstAt: number
      windowUntil: number | null
    }

/** What becomes of a submission that wants to run at `runAt`. */
export function decideDedupe(
  rule: DedupeRule,
  standing: Standing | null,
  { now, runAt }: { now: number; runAt: number },
): DedupeDecision {
  const windowUntil = rule.windowSec === undefined ? null : now + rule.windowSec * 1_000
  if (!standing || !isDuplicate(rule, standing, now)) return { verdict: 'NEW', runAt, firstAt: now, windowUntil }
  const open = standing.state === 'COMING' || standing.state === 'PENDING'
  if (!open || rule.onDuplicate === 'KEEP') return { verdict: 'KEPT' }
  const { firstAt } = standing
  if (rule.onDuplicate === 'REPLACE') return { verdict: 'REPLACED', runAt, firstAt, windowUntil }
  const latest = rule.maxWaitSec === undefined ? Number.POSITIVE_INFINITY : firstAt + rule.maxWaitSec * 1_000
  return { verdict: 'DEBOUNCED', runAt: Math.min(runAt, Math.max(latest, now)), firstAt, windowUntil }
}

function isDuplicate(rule: DedupeRule, standing: Standing, now: number): boolean {
  switch (standing.state) {
    case null:
      return false
    case 'COMING':
    case 'PENDING':
      return true
    case 'STARTED':
      return rule.while === 'UNFINISHED' || withinWindow(standing, now)
    case 'ENDED':
      return withinWindow(standing, now)
  }
}

function withinWindow({ windowUntil }: Standing, now: number): boolean {
  return windowUntil !== null && now < windowUntil
}
