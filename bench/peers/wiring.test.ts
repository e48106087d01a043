import { expect, it } from 'vitest'
import { jobsOf } from './peer.ts'
import { inBatches } from './wiring.ts'

it('sends every job once, in batches no larger than asked, so many at a time', async () => {
  const sent: number[] = []
  let [underWay, most] = [0, 0]
  await inBatches({ first: 7, count: 95, size: 10, inFlight: 3 }, async (first, count) => {
    most = Math.max(most, ++underWay)
    expect(count).toBeLessThanOrEqual(10)
    await Promise.resolve()
    sent.push(...jobsOf(first, count).map(({ payload }) => payload.n))
    underWay--
  })
  expect(sent.sort((a, b) => a - b)).toEqual(Array.from({ length: 95 }, (_, i) => 7 + i))
  expect(most).toBe(3)
})

it('gives neighbours other tenants and other handlers', () => {
  const jobs = jobsOf(0, 100)
  expect(new Set(jobs.map(({ payload }) => payload.tenant)).size).toBe(100)
  expect(new Set(jobs.map(({ handler }) => handler)).size).toBe(5)
})
