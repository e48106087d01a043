import { expect, it } from 'vitest'
import { BatchLimit } from './batch-limit.ts'

const slow = new Error('too slow')
const isSlow = (error: unknown) => error === slow
const fail = (error: Error) => () => Promise.reject(error)

it('halves when a batch was too slow, down to one, and grows back', async () => {
  const limit = new BatchLimit(1_000)
  await expect(limit.watch(fail(slow), isSlow)).rejects.toBe(slow)
  expect(limit.current).toBe(500)
  for (let i = 0; i < 20; i++) await limit.watch(fail(slow), isSlow).catch(() => {})
  expect(limit.current).toBe(1)
  for (let i = 0; i < 200; i++) await limit.watch(async () => i, isSlow)
  expect(limit.current).toBe(1_000)
})

it('stays as it is when something else went wrong', async () => {
  const limit = new BatchLimit(10)
  await expect(limit.watch(fail(new Error('other')), isSlow)).rejects.toThrow('other')
  expect(limit.current).toBe(10)
})
