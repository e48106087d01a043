import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costOf, type Flow, flowKey, groupByFlow, tagsFor, unitCost } from './fairness.ts'

const flows: fc.Arbitrary<Flow> = fc.record({
  pool: fc.constantFrom('default', 'email', 'e', 'größe'),
  lane: fc.integer({ min: 0, max: 3 }),
  tenant: fc.constantFrom('acme', 'a', 'zebra', 'default'),
})

describe('groupByFlow', () => {
  it('asks once for each flow, for as many as there are, in the order of pool, lane and tenant', () => {
    fc.assert(
      fc.property(fc.array(flows, { maxLength: 60 }), (items) => {
        const requests = groupByFlow(items)
        const counts = Map.groupBy(items, flowKey)
        expect(requests.length).toBe(counts.size)
        for (const request of requests) expect(request.count).toBe(counts.get(flowKey(request))!.length)
        expect(requests).toEqual([...requests].sort(byPoolLaneTenant))
      }),
    )
  })

  it('locks in the same order whatever the order of arrival', () => {
    fc.assert(
      fc.property(fc.array(flows), (items) => {
        expect(groupByFlow([...items].reverse())).toEqual(groupByFlow(items))
      }),
    )
  })
})

describe('tagsFor', () => {
  it('gives each flow the range reserved for it, strictly increasing in the order of the items', () => {
    const weights = fc.dictionary(fc.constantFrom('acme', 'a', 'zebra'), fc.integer({ min: 1, max: 1_000 }))
    fc.assert(
      fc.property(
        ...[fc.array(flows, { maxLength: 60 }), fc.integer({ min: 0, max: 1_000 }), weights],
        (items, start, weightOf) => {
          const requests = groupByFlow(items, (tenant) => weightOf[tenant] ?? 1)
          const before = requests.map((_, i) => (start + i * 7) * unitCost)
          const ends = requests.map(({ count, cost }, i) => before[i]! + count * cost)
          const tags = tagsFor(items, requests, ends)
          requests.forEach((request, i) => {
            const cost = costOf(weightOf[request.tenant] ?? 1)
            const own = tags.filter((_, n) => flowKey(items[n]!) === flowKey(request))
            expect(own).toEqual(own.map((_, n) => before[i]! + n * cost))
            expect(own.at(-1)! + cost).toBe(ends[i])
          })
        },
      ),
    )
  })
})

it('costs are whole numbers, less than one percent from a part of the weight', () => {
  expect([1, 2, 3, 1_000].map(costOf)).toEqual([65_536, 32_768, 21_845, 66])
  for (let weight = 1; weight <= 1_000; weight++) {
    expect(Number.isInteger(costOf(weight))).toBe(true)
    expect(Math.abs((costOf(weight) * weight) / unitCost - 1)).toBeLessThan(0.01)
  }
})

function byPoolLaneTenant(a: Flow, b: Flow): number {
  if (a.pool !== b.pool) return a.pool < b.pool ? -1 : 1
  if (a.lane !== b.lane) return a.lane - b.lane
  return a.tenant < b.tenant ? -1 : 1
}
