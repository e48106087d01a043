import { expect, it } from 'vitest'
import { shareInFlight } from './share-in-flight.ts'

it('makes one answer for all who ask meanwhile, and a new one afterwards, also after a failure', async () => {
  let made = 0
  const ask = shareInFlight(async (owner: { broken: boolean }) => {
    made++
    await new Promise(setImmediate)
    if (owner.broken) throw new Error('broken')
    return made
  })
  const owner = { broken: false }
  expect(await Promise.all([ask(owner), ask(owner), ask(owner)])).toEqual([1, 1, 1])
  expect(await Promise.all([ask(owner), ask({ broken: false })])).toEqual([3, 3])
  owner.broken = true
  await expect(ask(owner)).rejects.toThrow('broken')
  owner.broken = false
  expect(await ask(owner)).toBe(5)
})
