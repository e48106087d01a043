import { beforeEach, expect, it } from 'vitest'
import { quotaExceeded } from '../store/tenants/quota-exceeded.ts'
import type { Budget } from '../store/tenants/quotas.ts'
import { SubmissionRates } from './submission-rates.ts'

let now: number
/** What the budget answers, in turn; the last one again and again. */
let budgets: Budget[]
let asked: { first: number; more: number }[]
let rates: SubmissionRates

beforeEach(() => {
  now = 1_000_000
  budgets = []
  asked = []
  rates = new SubmissionRates({
    take: async ({ first, more }) => {
      asked.push({ first, more })
      return budgets.length > 1 ? budgets.shift()! : budgets[0]!
    },
    refuse: quotaExceeded,
    now: () => now,
  })
})

const take = async (count = 1, rate = 1_000) => {
  try {
    await rates.take('acme', { rate, count })
    return 'TAKEN'
  } catch (error) {
    return (error as { retryAfterMs?: number }).retryAfterMs ?? error
  }
}

it('asks once for what comes at the same time, and no more while there is something left', async () => {
  budgets = [{ granted: 51, waitMs: 0 }]
  expect(await Promise.all([take(), take(), take(), take(), take()])).toEqual(Array(5).fill('TAKEN'))
  // And as many as come in 50 ms at this rate.
  expect(asked).toEqual([{ first: 1, more: 50 }])
  expect(await Promise.all(Array.from({ length: 46 }, () => take()))).toEqual(Array(46).fill('TAKEN'))
  expect(asked).toHaveLength(1)
  expect(await take()).toBe('TAKEN')
  expect(asked).toHaveLength(2)
})

it('takes no more ahead than the tenant asks for here', async () => {
  budgets = [{ granted: 1, waitMs: 0 }]
  await take()
  now += 1_000
  await take()
  expect(asked.at(-1)).toEqual({ first: 1, more: 0 })
})

it('refuses without asking while the budget is used up, and says until when', async () => {
  budgets = [
    { granted: 0, waitMs: 400 },
    { granted: 1, waitMs: 0 },
  ]
  expect(await take()).toBe(400)
  now += 100
  expect(await take()).toBe(300)
  expect(asked).toHaveLength(1)
  now += 300
  expect(await take()).toBe('TAKEN')
})

it('asks for a batch as a whole, and refuses those behind it for which nothing is left', async () => {
  budgets = [{ granted: 1_000, waitMs: 900 }]
  expect(await Promise.all([take(1_000), take()])).toEqual(['TAKEN', 900])
  expect(asked).toEqual([{ first: 1_000, more: 50 }])
})

it('gives out again what was given back, and nothing that is older than a second', async () => {
  budgets = [
    { granted: 1, waitMs: 0 },
    { granted: 0, waitMs: 500 },
  ]
  expect(await take()).toBe('TAKEN')
  rates.giveBack('acme', 1)
  expect(await take()).toBe('TAKEN')
  rates.giveBack('acme', 1)
  now += 1_001
  expect(await take()).toBe(500)
})

it('lets everything through once the quota is gone, and passes failures on', async () => {
  budgets = [{ granted: null, waitMs: 0 }]
  expect(await Promise.all([take(5), take(5_000)])).toEqual(['TAKEN', 'TAKEN'])
  const broken = new SubmissionRates({
    take: () => Promise.reject(new Error('no database')),
    refuse: quotaExceeded,
    now: () => now,
  })
  await expect(broken.take('acme', { rate: 1, count: 1 })).rejects.toThrow('no database')
  await expect(broken.take('acme', { rate: 1, count: 1 })).rejects.toThrow('no database')
})
