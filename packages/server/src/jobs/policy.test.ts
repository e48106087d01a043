import { type CarillonError, defaults, type ExecutionPolicy } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { policyOf } from '../store/rows.ts'
import { checkPolicy, storedPolicy } from './policy.ts'
import { Problems } from './validate.ts'

function pointersOf(policy: object): (string | undefined)[] {
  const problems = new Problems()
  checkPolicy(problems, policy as ExecutionPolicy)
  try {
    problems.throwIfAny()
  } catch (error) {
    return (error as CarillonError).errors.map(({ pointer }) => pointer)
  }
  return []
}

const whole: ExecutionPolicy = {
  priority: 'HIGH',
  retryPolicy: {
    ...{ maxAttempts: 3, backoff: 'LINEAR', initialDelayMs: 0, factor: 1.5, maxDelayMs: 1_000, jitter: 1 },
    ...{ delaysMs: [0, 5], nonRetryableErrors: ['CardDeclined'] },
  },
  ...{ timeoutSec: 0.5, deadlineSec: 60, heartbeatTimeoutSec: 5, startWithinSec: 10, cancelGraceSec: 0 },
  ...{ unknownHandlerSec: 0, delivery: 'AT_MOST_ONCE', labels: { team: 'billing' }, traceparent: '00-ab-cd-01' },
  limits: ['acct:{payload.id}'],
}

describe('a policy', () => {
  it('may be left out, or say everything', () => {
    expect(pointersOf({})).toEqual([])
    expect(pointersOf(whole)).toEqual([])
  })

  const bad: [string, unknown[]][] = [
    ['/priority', ['URGENT', 'high', 0, null]],
    ['/delivery', ['EXACTLY_ONCE', null]],
    ['/timeoutSec', [0, -1, Number.NaN, '60', 366 * 86_400 + 1, null]],
    ['/deadlineSec', [0, 0.5, -1, '60', null]],
    ['/heartbeatTimeoutSec', [0, 1.5, null]],
    ['/startWithinSec', [0, 1.5, null]],
    ['/cancelGraceSec', [-1, 3_601, 0.5, null]],
    ['/unknownHandlerSec', [-1, 0.5, null]],
    ['/labels', [null, 'x', Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`l${i}`, 'x']))]],
    ['/limits', ['acct', {}, null, ['a', 'b', 'c', 'd', 'e']]],
    ['/limits/0', [[''], [5], ['a:'], ['a:{b}'], ['x'.repeat(601)]]],
    ['/traceparent', ['', 'x'.repeat(101), 5, null]],
    ['/retryPolicy', [null, 'x', 5, [3]]],
    ['/retryPolicy/maxAttempts', [0, -1, 1.5, 10_001, '3', null]],
    ['/retryPolicy/backoff', ['QUADRATIC', null]],
    ['/retryPolicy/initialDelayMs', [-1, 0.5, Number.NaN, null]],
    ['/retryPolicy/factor', [0.9, 101, '2', null]],
    ['/retryPolicy/maxDelayMs', [-1, 0.5, null]],
    ['/retryPolicy/jitter', [-0.1, 1.1, null]],
    ['/retryPolicy/delaysMs', [5, 'x', {}, null]],
    ['/retryPolicy/delaysMs/0', [[-1], [0.5], ['5'], [null], [undefined]]],
    ['/retryPolicy/nonRetryableErrors', ['Error', {}, null]],
    ['/retryPolicy/nonRetryableErrors/0', [[''], [5], [null]]],
    ['/retryPolicy/maxAttempt', [3]],
  ]

  it.each(bad.flatMap(([pointer, values]) => values.map((value) => [pointer, value] as const)))(
    'is refused with %s %j',
    (pointer, value) => {
      const path = pointer.split('/').slice(1)
      const field = path[0] === 'retryPolicy' && path.length > 1 ? path[1]! : path[0]!
      const policy =
        path[0] === 'retryPolicy' && path.length > 1 ? { retryPolicy: { [field]: value } } : { [field]: value }
      expect(pointersOf(policy)).toEqual([pointer])
    },
  )
})

describe('what is stored of a policy', () => {
  it('is nothing when nothing differs from the defaults', () => {
    expect(storedPolicy({})).toBeNull()
    expect(storedPolicy({ timeoutSec: defaults.timeoutSec, delivery: defaults.delivery, retryPolicy: {} })).toBeNull()
    expect(storedPolicy({ retryPolicy: { maxAttempts: undefined } })).toBeNull()
    expect(storedPolicy({ priority: 'LOW', labels: { a: 'b' } })).toBeNull()
  })

  it('comes back as it was given, with the defaults around it', () => {
    const used = policyOf(storedPolicy(whole))
    expect(used).toEqual({
      retryPolicy: whole.retryPolicy,
      ...{ timeoutSec: 0.5, heartbeatTimeoutSec: 5, delivery: 'AT_MOST_ONCE', cancelGraceSec: 0, unknownHandlerSec: 0 },
      pauseAfterFailures: null,
      limits: ['acct:{payload.id}'],
    })
    expect(policyOf(storedPolicy({ retryPolicy: { maxAttempts: 1 } })).retryPolicy).toEqual({
      ...defaults.retryPolicy,
      maxAttempts: 1,
    })
  })

  it('of nothing is the defaults', () => {
    expect(policyOf(null)).toMatchObject({
      retryPolicy: defaults.retryPolicy,
      timeoutSec: 300,
      heartbeatTimeoutSec: null,
    })
  })
})
