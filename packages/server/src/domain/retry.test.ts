import { type BackoffPolicy, defaults, type RetryPolicy } from '@carillon/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failureStates } from './execution-state.ts'
import { afterFailure, type FailedAttempt, type FailureRules, retryDelayMs } from './retry.ts'
import { latestInstant } from './schedule/time-range.ts'

const now = 1_700_000_000_000
const yearMs = 366 * 86_400_000

function policy(more: Partial<RetryPolicy> = {}): RetryPolicy {
  return { ...defaults.retryPolicy, jitter: 0, ...more }
}
function rules(more: Partial<FailureRules> = {}): FailureRules {
  return { retryPolicy: policy(), delivery: 'AT_LEAST_ONCE', deadlineAt: null, ...more }
}
function failed(more: Partial<FailedAttempt> = {}): FailedAttempt {
  return { outcome: 'FAILED', attempt: 1, errorName: 'Error', ...more }
}

/** Every policy that a job may have. */
const policies: fc.Arbitrary<RetryPolicy> = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 10_000 }),
  backoff: fc.constantFrom<BackoffPolicy[]>('EXPONENTIAL', 'LINEAR', 'FIXED'),
  initialDelayMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: yearMs })),
  factor: fc.double({ min: 1, max: 100, noNaN: true }),
  maxDelayMs: fc.integer({ min: 0, max: yearMs }),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  delaysMs: fc.option(fc.array(fc.integer({ min: 0, max: yearMs }), { maxLength: 5 }), { nil: undefined }),
})
const chances = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })

describe('the delay before the next attempt', () => {
  it.each<[string, Partial<RetryPolicy>, number[]]>([
    ['EXPONENTIAL doubles from the first on', {}, [1_000, 2_000, 4_000, 8_000]],
    ['EXPONENTIAL with a factor', { factor: 10, maxDelayMs: 1e9 }, [1_000, 10_000, 100_000, 1_000_000]],
    ['EXPONENTIAL stops at the cap', { initialDelayMs: 100_000 }, [100_000, 200_000, 300_000, 300_000]],
    ['LINEAR adds the first', { backoff: 'LINEAR' }, [1_000, 2_000, 3_000, 4_000]],
    ['LINEAR stops at the cap', { backoff: 'LINEAR', maxDelayMs: 2_500 }, [1_000, 2_000, 2_500, 2_500]],
    ['FIXED stays', { backoff: 'FIXED' }, [1_000, 1_000, 1_000, 1_000]],
    ['a list is followed, its last one repeats', { delaysMs: [5, 500, 50] }, [5, 500, 50, 50]],
    ['an empty list is none', { delaysMs: [], backoff: 'FIXED' }, [1_000, 1_000, 1_000, 1_000]],
    ['a listed delay is not capped', { delaysMs: [5, 500], maxDelayMs: 100 }, [5, 500, 500, 500]],
    ['nor is the initial one', { initialDelayMs: 1_000, maxDelayMs: 100 }, [1_000, 1_000, 1_000, 1_000]],
  ])('%s', (_, given, delays) => {
    expect([1, 2, 3, 4].map((attempt) => retryDelayMs(policy(given), attempt, 0.99))).toEqual(delays)
  })

  it('of nothing stays nothing, however large the exponent', () => {
    expect(retryDelayMs(policy({ initialDelayMs: 0, factor: 100 }), 9_999, 0)).toBe(0)
  })

  it('lies between the delay without jitter and that with all of it, and never beyond the cap with all of it', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 10_000 }), chances, (given, attempt, chance) => {
        const base = retryDelayMs({ ...given, jitter: 0 }, attempt, 0)
        const delay = retryDelayMs(given, attempt, chance)
        expect(delay).toBeGreaterThanOrEqual(base)
        expect(delay).toBeLessThanOrEqual(Math.ceil(base * (1 + given.jitter)) + 1)
        const most = Math.max(given.maxDelayMs, given.initialDelayMs, ...(given.delaysMs ?? []))
        expect(delay).toBeLessThanOrEqual(Math.ceil(most * (1 + given.jitter)))
      }),
    )
  })

  it('does not shrink from attempt to attempt unless a list says so', () => {
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 9_999 }), (given, attempt) => {
        const steady = { ...given, delaysMs: undefined, jitter: 0 }
        expect(retryDelayMs(steady, attempt + 1, 0)).toBeGreaterThanOrEqual(retryDelayMs(steady, attempt, 0))
      }),
    )
  })
})

describe('after a failed attempt', () => {
  it('the execution is tried again after the delay', () => {
    expect(afterFailure(failed(), rules(), now, 0)).toEqual({ next: 'RETRY', at: now + 1_000 })
  })

  it('the last attempt is the last: the first one counts', () => {
    const three = rules({ retryPolicy: policy({ maxAttempts: 3 }) })
    expect([1, 2, 3, 4].map((attempt) => afterFailure(failed({ attempt }), three, now, 0).next)).toEqual([
      'RETRY',
      'RETRY',
      'DEAD',
      'DEAD',
    ])
    expect(afterFailure(failed({ attempt: 3 }), three, now, 0)).toEqual({ next: 'DEAD', reason: 'ATTEMPTS_USED_UP' })
  })

  it('an error that is named as not retryable ends it, another does not', () => {
    const named = rules({ retryPolicy: policy({ nonRetryableErrors: ['CardDeclined'] }) })
    const after = (errorName: string | null) => afterFailure(failed({ errorName }), named, now, 0)
    expect(after('CardDeclined')).toEqual({ next: 'DEAD', reason: 'NOT_RETRYABLE' })
    expect(after('Error').next).toBe('RETRY')
    expect(after(null).next).toBe('RETRY')
  })

  it('the handler may end it', () => {
    const verdict = afterFailure(failed({ permanent: true, retryAfterMs: 5 }), rules(), now, 0)
    expect(verdict).toEqual({ next: 'DEAD', reason: 'NOT_RETRYABLE' })
  })

  it.each<[string, number, number]>([
    ['a time of its own, beyond the cap even', 900_000, now + 900_000],
    ['none', 0, now],
    ['a part of a millisecond, rounded up', 0.2, now + 1],
    ['a time in the past, which is now', -5, now],
    ['a time beyond all calendars, which is the last there is', 1e300, latestInstant],
    ['no number, which is no wish', Number.NaN, now + 1_000],
  ])('the handler may ask for %s', (_, retryAfterMs, at) => {
    expect(afterFailure(failed({ retryAfterMs }), rules(), now, 0)).toEqual({ next: 'RETRY', at })
  })

  it('what would come at or after the deadline is dead', () => {
    const until = (deadlineAt: number) => afterFailure(failed(), rules({ deadlineAt }), now, 0)
    expect(until(now + 1_001)).toEqual({ next: 'RETRY', at: now + 1_000 })
    expect(until(now + 1_000)).toEqual({ next: 'DEAD', reason: 'DEADLINE' })
    expect(until(now - 1)).toEqual({ next: 'DEAD', reason: 'DEADLINE' })
  })

  it.each(failureStates)('AT_MOST_ONCE never tries again after %s', (outcome) => {
    const once = rules({ delivery: 'AT_MOST_ONCE' })
    const reason = outcome === 'FAILED' ? 'NOT_RETRYABLE' : 'OUTCOME_UNKNOWN'
    expect(afterFailure(failed({ outcome, retryAfterMs: 1 }), once, now, 0)).toEqual({ next: 'DEAD', reason })
  })

  it('a retry is a whole millisecond in the calendar, never in the past, never one attempt too many', () => {
    const attempts = fc.record({
      outcome: fc.constantFrom(...failureStates),
      attempt: fc.integer({ min: 1, max: 10_001 }),
      errorName: fc.constantFrom('Error', null),
      retryAfterMs: fc.option(fc.double(), { nil: undefined }),
    })
    const times = fc.double({ min: 0, max: 4_000_000_000_000, noNaN: true })
    fc.assert(
      fc.property(policies, attempts, times, chances, (retryPolicy, attempt, time, chance) => {
        const verdict = afterFailure(attempt, rules({ retryPolicy }), time, chance)
        if (verdict.next === 'DEAD') {
          expect(verdict.reason).toBe('ATTEMPTS_USED_UP')
          return
        }
        expect(attempt.attempt).toBeLessThan(retryPolicy.maxAttempts)
        expect(Number.isSafeInteger(verdict.at)).toBe(true)
        expect(verdict.at).toBeGreaterThanOrEqual(time)
        expect(verdict.at).toBeLessThanOrEqual(latestInstant)
      }),
    )
  })
})
