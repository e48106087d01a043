import { expect, it } from 'vitest'
import { Random } from '../simulate/random.ts'
import { planFaults } from './fault-plan.ts'

const kinds = ['a', 'b', 'c', 'd']
const time = { fromMs: 5_000, toMs: 45_000, rounds: 3 }

it('gives every kind its turn in every round, within the time', () => {
  const plan = planFaults(kinds, time, new Random(1))
  expect(plan).toHaveLength(12)
  for (const kind of kinds) expect(plan.filter((fault) => fault.kind === kind)).toHaveLength(3)
  for (const { atMs } of plan) expect(atMs >= 5_000 && atMs <= 45_000).toBe(true)
  expect(plan.map(({ atMs }) => atMs)).toEqual(plan.map(({ atMs }) => atMs).sort((a, b) => a - b))
})

it('is the seed’s: the same one gives the same plan, another one another', () => {
  expect(planFaults(kinds, time, new Random(1))).toEqual(planFaults(kinds, time, new Random(1)))
  expect(planFaults(kinds, time, new Random(1))).not.toEqual(planFaults(kinds, time, new Random(2)))
})

it('leaves the end of every round quiet', () => {
  const plan = planFaults(kinds, { ...time, rounds: 2, quietMs: 8_000 }, new Random(1))
  expect(plan).toHaveLength(8)
  for (const { atMs } of plan) expect((atMs - 5_000) % 20_000).toBeLessThanOrEqual(12_000)
})
