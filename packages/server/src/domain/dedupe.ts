/**
 * At most one submission holds a dedupe key. A holder that has started keeps the key, or no longer counts as a duplicate; one that has
 * not started may be replaced by a newer submission.
 */
import type { DedupeAction, DedupeState } from '@carillon/contract'

export interface DedupeRule {
  while: DedupeState
  onDuplicate: DedupeAction
  windowSec?: number
  maxWaitSec?: number
}

/** The submission that holds the key. Times in milliseconds. */
export interface KeyHolder {
  /** COMING: a one-shot that has not fired. STARTED: it runs, or waits for another attempt. Null: it is gone. */
  state: 'COMING' | 'PENDING' | 'STARTED' | 'ENDED' | null
  /** When the first of the submissions came that held the key one after the other. */
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

/** Decides about a submission that is to run at `runAt`. */
export function decideDedupe(
  rule: DedupeRule,
  holder: KeyHolder | null,
  { now, runAt }: { now: number; runAt: number },
): DedupeDecision {
  const windowUntil = rule.windowSec === undefined ? null : now + rule.windowSec * 1_000
  if (!holder || !isDuplicate(rule, holder, now)) return { verdict: 'NEW', runAt, firstAt: now, windowUntil }
  const open = holder.state === 'COMING' || holder.state === 'PENDING'
  if (!open || rule.onDuplicate === 'KEEP') return { verdict: 'KEPT' }
  const { firstAt } = holder
  if (rule.onDuplicate === 'REPLACE') return { verdict: 'REPLACED', runAt, firstAt, windowUntil }
  const latest = rule.maxWaitSec === undefined ? Number.POSITIVE_INFINITY : firstAt + rule.maxWaitSec * 1_000
  return { verdict: 'DEBOUNCED', runAt: Math.min(runAt, Math.max(latest, now)), firstAt, windowUntil }
}

function isDuplicate(rule: DedupeRule, holder: KeyHolder, now: number): boolean {
  switch (holder.state) {
    case null:
      return false
    case 'COMING':
    case 'PENDING':
      return true
    case 'STARTED':
      return rule.while === 'UNFINISHED' || withinWindow(holder, now)
    case 'ENDED':
      return withinWindow(holder, now)
  }
}

function withinWindow({ windowUntil }: KeyHolder, now: number): boolean {
  return windowUntil !== null && now < windowUntil
}
