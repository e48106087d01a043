import { describe, expect, it } from 'vitest'
import { defaults, limits } from './defaults.ts'
import { backoffs, deliveries, misfirePolicies, overlapPolicies, priorities } from './words.ts'

describe('the defaults', () => {
  it('are those of the specification', () => {
    expect(defaults).toMatchObject({
      ...{ timezone: 'UTC', priority: 'NORMAL', timeoutSec: 300, overlap: 'ALLOW', misfire: 'FIRE_ONCE' },
      ...{ retentionDays: 30, misfireAfterSec: 60, maxCatchUp: 1_000, unknownHandlerSec: 600 },
      ...{ delivery: 'AT_LEAST_ONCE', dst: { gap: 'SHIFT', overlap: 'FIRST' } },
      retryPolicy: {
        ...{
          maxAttempts: 4,
          backoff: 'EXPONENTIAL',
          initialDelayMs: 1_000,
          factor: 2,
          maxDelayMs: 300_000,
          jitter: 0.3,
        },
      },
    })
  })

  it('are words that exist', () => {
    expect(priorities).toContain(defaults.priority)
    expect(overlapPolicies).toContain(defaults.overlap)
    expect(misfirePolicies).toContain(defaults.misfire)
    expect(deliveries).toContain(defaults.delivery)
    expect(backoffs).toContain(defaults.retryPolicy.backoff)
  })

  it('cannot be changed by who reads them', () => {
    for (const object of [defaults, defaults.dst, defaults.retryPolicy, limits])
      expect(Object.isFrozen(object)).toBe(true)
  })
})
