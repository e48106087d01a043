import { describe, expect, test } from 'vitest'
import { bucketCount, bucketOf, quantilesOf } from './log-buckets.ts'

function quantiles(values: number[], shares: number[]): number[] {
  const counts = new Array<number>(bucketCount).fill(0)
  for (const value of values) counts[bucketOf(value)]!++
  return quantilesOf(counts, values.length, shares)
}

describe('buckets', () => {
  test('take every length, also what is none', () => {
    for (const ms of [-5, 0, Number.NaN]) expect(bucketOf(ms)).toBe(0)
    expect(bucketOf(0.1)).toBe(1)
    expect(bucketOf(86_400_000 * 400)).toBe(bucketCount - 1)
    expect(bucketOf(Number.POSITIVE_INFINITY)).toBe(bucketCount - 1)
  })

  test.each([0.13, 1, 7, 99, 1_000, 12_345, 3_600_000, 80_000_000])('know %d ms to 10 %%', (ms) => {
    expect(Math.abs(quantiles([ms], [0.5])[0]! / ms - 1)).toBeLessThan(0.1)
  })

  test('quantiles of many are right to 10 %', () => {
    const values = Array.from({ length: 10_000 }, (_, i) => 1.0007 ** i)
    const shares = [0.01, 0.5, 0.95, 0.99, 1]
    for (const [i, found] of quantiles(values, shares).entries()) {
      const exact = values[Math.ceil(values.length * shares[i]!) - 1]!
      expect(Math.abs(found / exact - 1)).toBeLessThan(0.1)
    }
  })
})
