import { describe, expect, it } from 'vitest'
import type { NodeOutcome } from '../domain/node-outcome.ts'
import type { ExecutionRules } from '../store/executions/read-rules.ts'
import { policyOf, type StoredPolicy } from '../store/rows.ts'
import { decide, type Ending, needsRules } from './decide.ts'

const now = 1_700_000_000_000.25
const error = { name: 'Error', message: 'no' }
const lease = { executionId: 'e', fence: 7 }
const untouched = {
  ...lease,
  ...{ next: null, reason: null, retryAt: null, startedAt: null, result: null, error: null, progress: null, log: null },
}

function rules(more: Partial<ExecutionRules> = {}, policy: StoredPolicy = {}): ExecutionRules {
  const exact: StoredPolicy = { ...policy, retryPolicy: { jitter: 0, ...policy.retryPolicy } }
  return {
    ...{
      policy: policyOf(exact),
      deadlineAt: null,
      attempt: 0,
      freeReturns: 0,
      began: true,
      startsRun: false,
      unknownHandlerSince: null,
    },
    ...more,
  }
}

type ReportedOutcome = Extract<Ending, { from: 'WORKER' }>['said']
type Said = ReportedOutcome extends infer One
  ? One extends ReportedOutcome
    ? Omit<One, 'executionId' | 'fence'>
    : never
  : never
function worker(said: Partial<Said> & { outcome: Said['outcome'] }): Ending {
  const whole = { ...lease, startedAt: 5, finishedAt: 9, ...said } as ReportedOutcome
  return { ...lease, actor: 'worker:w', from: 'WORKER', said: whole }
}
function node(said: NodeOutcome): Ending {
  return { ...lease, actor: 'sweeper', from: 'NODE', said }
}

describe('what a worker says', () => {
  it('SUCCEEDED: the result, and nothing is asked', () => {
    const ending = worker({ outcome: 'SUCCEEDED', result: '{"n":1}', log: ['one', 'two'] })
    expect(needsRules(ending)).toBe(false)
    expect(decide(ending, null, now, 0)).toEqual({
      ...untouched,
      ...{ outcome: 'SUCCEEDED', startedAt: 5, result: '{"n":1}', log: 'one\ntwo\n', actor: 'worker:w' },
    })
  })

  it('CANCELLED: with the error its handler threw, if any', () => {
    expect(needsRules(worker({ outcome: 'CANCELLED' }))).toBe(false)
    const plain = decide(worker({ outcome: 'CANCELLED' }), null, now, 0)
    expect(plain).toMatchObject({ outcome: 'CANCELLED', next: null, reason: 'CANCELLED', error: null })
    expect(decide(worker({ outcome: 'CANCELLED', error }), null, now, 0).error).toEqual(error)
  })

  it('FAILED: again after the delay, rounded up to a millisecond, with the progress it had', () => {
    const ending = worker({ outcome: 'FAILED', error, progress: '3' })
    expect(needsRules(ending)).toBe(true)
    expect(decide(ending, rules(), now, 0)).toEqual({
      ...untouched,
      ...{ outcome: 'FAILED', next: 'RETRY', retryAt: 1_700_000_001_001, startedAt: 5, error, progress: '3' },
      actor: 'worker:w',
    })
  })

  it('FAILED: chance makes the jitter', () => {
    const jittery = rules({}, { retryPolicy: { jitter: 0.5 } })
    expect(decide(worker({ outcome: 'FAILED', error }), jittery, now, 0.5).retryAt).toBe(1_700_000_001_251)
  })

  it.each<[string, Partial<Said>, ExecutionRules, object]>([
    ['asks for later', { retryAfterMs: 60_000 }, rules(), { next: 'RETRY', retryAt: 1_700_000_060_001 }],
    ['says it is permanent', { permanent: true }, rules(), { next: 'DEAD', reason: 'NOT_RETRYABLE', retryAt: null }],
    ['was the last attempt', {}, rules({ attempt: 3 }), { next: 'DEAD', reason: 'ATTEMPTS_USED_UP' }],
    ['was the last but one', {}, rules({ attempt: 2 }), { next: 'RETRY' }],
    ['ran out of time', {}, rules({ deadlineAt: now + 500 }), { next: 'DEAD', reason: 'DEADLINE' }],
    [
      'of a named error',
      {},
      rules({}, { retryPolicy: { nonRetryableErrors: ['Error'] } }),
      { reason: 'NOT_RETRYABLE' },
    ],
    ['at most once', {}, rules({}, { delivery: 'AT_MOST_ONCE' }), { next: 'DEAD', reason: 'NOT_RETRYABLE' }],
  ])('FAILED: %s', (_, said, given, end) => {
    expect(decide(worker({ outcome: 'FAILED', error, ...said }), given, now, 0)).toMatchObject(end)
  })

  it('TIMED_OUT: again by the policy; its outcome is unknown if it may start only once', () => {
    const ending = worker({ outcome: 'TIMED_OUT', error, progress: '4' })
    expect(decide(ending, rules(), now, 0)).toMatchObject({ outcome: 'TIMED_OUT', next: 'RETRY', progress: '4' })
    const once = decide(ending, rules({}, { delivery: 'AT_MOST_ONCE' }), now, 0)
    expect(once).toMatchObject({ outcome: 'TIMED_OUT', next: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
  })

  it('TIMED_OUT of what it never started: handed back, no attempt used, but not for ever', () => {
    const ending = worker({ outcome: 'TIMED_OUT', error, startedAt: null })
    const end = decide(ending, rules({ attempt: 3, began: false }), now, 0)
    expect(end).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY', reason: 'TIMED_OUT', retryAt: Math.ceil(now) })
    expect(decide(ending, rules({ freeReturns: 3, began: false }), now, 0)).toMatchObject({ outcome: 'TIMED_OUT' })
    expect(decide(ending, rules(), now, 0)).toMatchObject({ outcome: 'TIMED_OUT' })
  })

  it('COMPLETED_IN_TRANSACTION: a failure, in case the row says that the transaction did not commit', () => {
    const end = decide(worker({ outcome: 'COMPLETED_IN_TRANSACTION' }), rules(), now, 0)
    expect(end).toMatchObject({
      outcome: 'COMPLETED_IN_TRANSACTION',
      next: 'RETRY',
      error: { name: 'TransactionNotCommitted' },
    })
  })

  it('an empty log is none', () => {
    expect(decide(worker({ outcome: 'SUCCEEDED', result: null, log: [] }), null, now, 0).log).toBeNull()
  })

  it('nothing of an execution that is gone from the ledger: REPORT will refuse it', () => {
    expect(decide(worker({ outcome: 'FAILED', error }), null, now, 0)).toMatchObject({
      next: 'DEAD',
      reason: 'UNKNOWN',
    })
  })
})

describe('what a worker hands back', () => {
  it.each(['SHUTDOWN', 'NOT_STARTED'] as const)('%s: at once, with its progress, whatever the attempts', (reason) => {
    const end = decide(worker({ outcome: 'HANDED_BACK', reason, progress: '5' }), rules({ attempt: 99 }), now, 0)
    expect(end).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY', reason, retryAt: Math.ceil(now), progress: '5' })
  })

  it('SHUTDOWN in the middle of what may start only once: its outcome is unknown', () => {
    const once = rules({}, { delivery: 'AT_MOST_ONCE' })
    const end = decide(worker({ outcome: 'HANDED_BACK', reason: 'SHUTDOWN' }), once, now, 0)
    expect(end).toMatchObject({ outcome: 'FAILED', next: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
    const unstarted = worker({ outcome: 'HANDED_BACK', reason: 'NOT_STARTED', startedAt: null })
    expect(decide(unstarted, once, now, 0)).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY' })
  })

  const unknownHandler = worker({ outcome: 'HANDED_BACK', reason: 'UNKNOWN_HANDLER', startedAt: null })

  it('UNKNOWN_HANDLER: after a moment, so that another worker has the chance', () => {
    const first = decide(unknownHandler, rules(), now, 0)
    expect(first).toMatchObject({ next: 'RETRY', reason: 'UNKNOWN_HANDLER', retryAt: Math.ceil(now + 1_000) })
  })

  it.each([
    [599_999, 'RETRY'],
    [600_000, 'DEAD'],
  ] as const)('UNKNOWN_HANDLER: %i ms after the first time it is %s', (agoMs, next) => {
    const end = decide(unknownHandler, rules({ unknownHandlerSince: now - agoMs }), now, 0)
    expect(end).toMatchObject({ next, reason: 'UNKNOWN_HANDLER' })
  })
})

describe('what the node itself says', () => {
  it.each(['NOT_NAMED', 'UNDELIVERED'] as const)('HANDED_BACK, %s: at once', (reason) => {
    const end = decide(node({ outcome: 'HANDED_BACK', reason, began: true }), rules(), now, 0)
    expect(end).toEqual({
      ...untouched,
      ...{ outcome: 'HANDED_BACK', next: 'RETRY', reason, retryAt: Math.ceil(now), actor: 'sweeper' },
    })
  })

  it('HANDED_BACK with AT_MOST_ONCE: once its handler has begun it may not start again', () => {
    const once = rules({}, { delivery: 'AT_MOST_ONCE' })
    const back = (began: boolean) => decide(node({ outcome: 'HANDED_BACK', reason: 'NOT_NAMED', began }), once, now, 0)
    expect(back(false)).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY_UNBEGUN' })
    expect(back(true)).toMatchObject({ next: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
  })

  it('TIMED_OUT: by the policy', () => {
    const end = decide(node({ outcome: 'TIMED_OUT', began: true }), rules(), now, 0)
    expect(end).toMatchObject({ outcome: 'TIMED_OUT', next: 'RETRY', error: { name: 'TimedOut' } })
    const last = decide(node({ outcome: 'TIMED_OUT', began: true }), rules({ attempt: 3 }), now, 0)
    expect(last).toMatchObject({ next: 'DEAD', reason: 'ATTEMPTS_USED_UP' })
  })

  it('TIMED_OUT before its handler had begun: no attempt used, three times, and only if it has not begun since', () => {
    const late = node({ outcome: 'TIMED_OUT', began: false })
    const one = { retryPolicy: { maxAttempts: 1 } }
    const ends = [0, 1, 2, 3].map((freeReturns) => decide(late, rules({ freeReturns }, one), now, 0))
    expect(ends.map(({ outcome }) => outcome)).toEqual(['HANDED_BACK', 'HANDED_BACK', 'HANDED_BACK', 'TIMED_OUT'])
    expect(ends[0]).toMatchObject({ next: 'RETRY_UNBEGUN', reason: 'TIMED_OUT', retryAt: Math.ceil(now) })
    expect(ends[3]).toMatchObject({ next: 'DEAD', reason: 'ATTEMPTS_USED_UP' })
  })

  it.each(['TIMED_OUT', 'WORKER_LOST'] as const)(
    '%s with AT_MOST_ONCE: what was not announced never began',
    (outcome) => {
      const end = decide(
        node({ outcome, began: false }),
        rules({ freeReturns: 9 }, { delivery: 'AT_MOST_ONCE' }),
        now,
        0,
      )
      expect(end).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY_UNBEGUN', reason: outcome })
    },
  )

  it('WORKER_LOST: by the policy if its handler had begun', () => {
    const lost = node({ outcome: 'WORKER_LOST', began: true })
    expect(decide(lost, rules(), now, 0)).toMatchObject({
      outcome: 'WORKER_LOST',
      next: 'RETRY',
      error: { name: 'WorkerLost' },
    })
    const once = decide(lost, rules({}, { delivery: 'AT_MOST_ONCE' }), now, 0)
    expect(once).toMatchObject({ next: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
  })

  it('WORKER_LOST while it started a run: no attempt used, since the run is found again; not where it may start only once', () => {
    const lost = node({ outcome: 'WORKER_LOST', began: true })
    const end = decide(lost, rules({ startsRun: true }, { retryPolicy: { maxAttempts: 1 } }), now, 0)
    expect(end).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY', reason: 'WORKER_LOST' })
    expect(decide(lost, rules({ startsRun: true, freeReturns: 3 }), now, 0)).toMatchObject({ outcome: 'WORKER_LOST' })
    const once = decide(lost, rules({ startsRun: true }, { delivery: 'AT_MOST_ONCE' }), now, 0)
    expect(once).toMatchObject({ next: 'DEAD', reason: 'OUTCOME_UNKNOWN' })
  })

  it('WORKER_LOST before its handler had begun: no attempt used, three times; after that it is taken to be the cause', () => {
    const lost = node({ outcome: 'WORKER_LOST', began: false })
    const ends = [0, 1, 2, 3].map((freeReturns) => decide(lost, rules({ freeReturns }), now, 0))
    expect(ends.map(({ outcome }) => outcome)).toEqual(['HANDED_BACK', 'HANDED_BACK', 'HANDED_BACK', 'WORKER_LOST'])
    expect(ends[0]).toMatchObject({ next: 'RETRY', reason: 'WORKER_LOST', retryAt: Math.ceil(now) })
    const once = decide(lost, rules({}, { delivery: 'AT_MOST_ONCE' }), now, 0)
    expect(once).toMatchObject({ outcome: 'HANDED_BACK', next: 'RETRY_UNBEGUN' })
  })
})
