/** What happens after an attempt that did not succeed. Pure: randomness is an argument between 0 and 1. */
import type { Delivery, RetryPolicy } from '@carillon/contract'
import type { FailureState } from './execution-state.ts'
import { latestInstant } from './schedule/time-range.ts'

export interface FailedAttempt {
  outcome: FailureState
  /** Number of this attempt; the first is 1. */
  attempt: number
  errorName: string | null
  /** The handler asked to wait this long. */
  retryAfterMs?: number
  /** The handler threw a PermanentError. */
  permanent?: boolean
}

export interface FailureRules {
  retryPolicy: RetryPolicy
  delivery: Delivery
  /** End of all attempts, milliseconds since 1970. */
  deadlineAt: number | null
}

export type Verdict =
  | { next: 'RETRY'; at: number }
  | { next: 'DEAD'; reason: 'ATTEMPTS_USED_UP' | 'NOT_RETRYABLE' | 'OUTCOME_UNKNOWN' | 'DEADLINE' }

export function afterFailure(failed: FailedAttempt, rules: FailureRules, now: number, chance: number): Verdict {
  const { retryPolicy } = rules
  if (rules.delivery === 'AT_MOST_ONCE') {
    return { next: 'DEAD', reason: failed.outcome === 'FAILED' ? 'NOT_RETRYABLE' : 'OUTCOME_UNKNOWN' }
  }
  const notRetryable = failed.errorName !== null && retryPolicy.nonRetryableErrors?.includes(failed.errorName)
  if (failed.permanent || notRetryable) return { next: 'DEAD', reason: 'NOT_RETRYABLE' }
  if (failed.attempt >= retryPolicy.maxAttempts) return { next: 'DEAD', reason: 'ATTEMPTS_USED_UP' }
  const { retryAfterMs: asked } = failed
  const isAsked = asked !== undefined && !Number.isNaN(asked)
  const delay = isAsked ? Math.max(0, asked) : retryDelayMs(retryPolicy, failed.attempt, chance)
  // A delay beyond the calendar must not fail the whole batch.
  const at = Math.min(Math.ceil(now + delay), latestInstant)
  if (rules.deadlineAt !== null && at >= rules.deadlineAt) return { next: 'DEAD', reason: 'DEADLINE' }
  return { next: 'RETRY', at }
}

/** The delay after attempt number `attempt` failed, jitter included. */
export function retryDelayMs(policy: RetryPolicy, attempt: number, chance: number): number {
  const base = baseDelayMs(policy, attempt)
  return Math.round(base + base * policy.jitter * chance)
}

/** The cap is for delays that grow: it shortens neither a delay that was listed nor the initial one. */
function baseDelayMs(policy: RetryPolicy, attempt: number): number {
  const { delaysMs, backoff, initialDelayMs, factor } = policy
  if (delaysMs?.length) return delaysMs[Math.min(attempt, delaysMs.length) - 1]!
  // The power may be infinite, and nothing times that is not a number.
  if (backoff === 'FIXED' || initialDelayMs === 0) return initialDelayMs
  const grown = backoff === 'LINEAR' ? initialDelayMs * attempt : initialDelayMs * factor ** (attempt - 1)
  return Math.min(grown, Math.max(policy.maxDelayMs, initialDelayMs))
}
