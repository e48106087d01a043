import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Backoff } from './backoff.ts'

describe('delays that grow', () => {
  it('lie between half of the full delay and all of it; the full one doubles up to the largest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 100_000 }), (initialMs, maxMs) => {
        const backoff = new Backoff({ initialMs, maxMs })
        for (let tries = 0; tries < 30; tries++) {
          const full = Math.min(maxMs, initialMs * 2 ** tries)
          const delay = backoff.nextMs()
          expect(delay).toBeGreaterThanOrEqual(full / 2)
          expect(delay).toBeLessThanOrEqual(full)
        }
      }),
    )
  })

  it('start over after a reset', () => {
    const backoff = new Backoff({ initialMs: 10, maxMs: 10_000 })
    for (let i = 0; i < 5; i++) backoff.nextMs()
    backoff.reset()
    expect(backoff.nextMs()).toBeLessThanOrEqual(10)
  })

  it('differ, so that many do not come back together', () => {
    const delays = Array.from({ length: 50 }, () => new Backoff({ initialMs: 1_000, maxMs: 1_000 }).nextMs())
    expect(new Set(delays).size).toBeGreaterThan(40)
  })
})
