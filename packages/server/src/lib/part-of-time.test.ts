import { expect, it } from 'vitest'
import { PartOfTime } from './part-of-time.ts'

let now = 0
const taking = (ms: number) => async () => {
  now += ms
}

it('pauses in proportion to what the work took', async () => {
  const part = new PartOfTime({ share: 0.05, longestPauseMs: 60_000, monotonic: () => now })
  expect(part.pauseMs).toBe(0)
  await part.spend(taking(10))
  expect(part.pauseMs).toBe(190)
  now += 100
  expect(part.pauseMs).toBe(90)
  now += 90
  expect(part.pauseMs).toBe(0)
  await part.spend(taking(100))
  expect(part.pauseMs).toBe(1_900)
})

it('counts work that failed, and answers what it answers', async () => {
  const part = new PartOfTime({ share: 0.5, longestPauseMs: 60_000, monotonic: () => now })
  const failing = part.spend(async () => {
    now += 30
    throw new Error('the database is away')
  })
  await expect(failing).rejects.toThrow('away')
  expect(part.pauseMs).toBe(30)
  expect(await part.spend(async () => 'done')).toBe('done')
  expect(part.pauseMs).toBe(0)
})

it('never pauses longer than its bound, however slow one piece was, whether or not it failed', async () => {
  const part = new PartOfTime({ share: 0.02, longestPauseMs: 5_000, monotonic: () => now })
  await part.spend(taking(3_600))
  expect(part.pauseMs).toBe(5_000)
  now += 5_000
  expect(part.pauseMs).toBe(0)
  const failing = part.spend(async () => {
    now += 12_000
    throw new Error('the statement took too long')
  })
  await expect(failing).rejects.toThrow('too long')
  expect(part.pauseMs).toBe(5_000)
})
