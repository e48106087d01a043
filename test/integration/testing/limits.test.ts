/** Limits on the clock of a test: nothing here waits for real time. */
import { defineHandler } from '@carillon/server'
import { implementHandler, type TestCarillon } from '@carillon/server/testing'
import { expect, it } from 'vitest'
import { starts, testCarillonAt } from './test-carillon.test-support.ts'

const start = '2026-01-01T00:00:00Z'
const work = defineHandler<number>({ name: 'work' })
const payloads = Array.from({ length: 6 }, (_, n) => n)
const minutes = (carillon: TestCarillon) => starts(carillon).map((at) => at.slice(11, 16))

it('a rate spreads what comes at once over the time of the test', async () => {
  await using carillon = await testCarillonAt(start, { handlers: [implementHandler(work, () => null)] })
  await carillon.limits.put('hourly', { rate: { count: 6, perSec: 3_600 } })
  await carillon.enqueueMany(work, payloads, { limits: ['hourly'] })
  await carillon.advance('PT30M')
  expect(minutes(carillon)).toEqual(['00:00', '00:10', '00:20', '00:30'])
  await carillon.advance('PT30M')
  expect(minutes(carillon)).toHaveLength(6)
})

it('what waits for a retry holds no slot', async () => {
  const failing = implementHandler(work, ({ payload, attempt }) => {
    if (payload === 0 && attempt === 1) throw new Error('not yet')
  })
  await using carillon = await testCarillonAt(start, { handlers: [failing] })
  await carillon.limits.put('one', { concurrency: 1 })
  const retryPolicy = { backoff: 'FIXED', initialDelayMs: 120_000, jitter: 0 } as const
  await carillon.enqueueMany(work, payloads, { limits: ['one'], retryPolicy })
  await carillon.advance('PT10M')
  expect(minutes(carillon)).toEqual([...Array.from({ length: 6 }, () => '00:00'), '00:02'])
})
