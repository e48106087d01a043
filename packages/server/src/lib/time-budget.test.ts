import { expect, it } from 'vitest'
import { TimeBudget } from './time-budget.ts'

let now = 0
const taking = (ms: number) => async () => {
  now += ms
}

it('pauses in proportion to what the work took', async () => {
  const budget = new TimeBudget({ share: 0.05, longestPauseMs: 60_000, monotonic: () => now })
  expect(budget.pauseMs).toBe(0)
  await budget.spend(taking(10))
  expect(budget.pauseMs).toBe(190)
  now += 100
  expect(budget.pauseMs).toBe(90)
  now += 90
  expect(budget.pauseMs).toBe(0)
  await budget.spend(taking(100))
  expect(budget.pauseMs).toBe(1_900)
})

it('counts work that failed, and answers what it answers', async () => {
  const budget = new TimeBudget({ share: 0.5, longestPauseMs: 60_000, monotonic: () => now })
  const failing = budget.spend(async () => {
    now += 30
    throw new Error('the database is away')
  })
  await expect(failing).rejects.toThrow('away')
  expect(budget.pauseMs).toBe(30)
  expect(await budget.spend(async () => 'done')).toBe('done')
  expect(budget.pauseMs).toBe(0)
})

it('never pauses longer than its bound, however slow one piece was, whether or not it failed', async () => {
  const budget = new TimeBudget({ share: 0.02, longestPauseMs: 5_000, monotonic: () => now })
  await budget.spend(taking(3_600))
  expect(budget.pauseMs).toBe(5_000)
  now += 5_000
  expect(budget.pauseMs).toBe(0)
  const failing = budget.spend(async () => {
    now += 12_000
    throw new Error('the statement took too long')
  })
  await expect(failing).rejects.toThrow('too long')
  expect(budget.pauseMs).toBe(5_000)
})
