import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Flow, flowKey, groupByFlow, tagsFor, takeInTurns, unitCost } from './fairness.ts'

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
    fc.assert(
      fc.property(fc.array(flows, { maxLength: 60 }), fc.integer({ min: 0, max: 1_000 }), (items, start) => {
        const requests = groupByFlow(items)
        const before = requests.map((_, i) => (start + i * 7) * unitCost)
        const ends = requests.map(({ count }, i) => before[i]! + count * unitCost)
        const tags = tagsFor(items, requests, ends)
        requests.forEach((request, i) => {
          const own = tags.filter((_, n) => flowKey(items[n]!) === flowKey(request))
          expect(own).toEqual(own.map((_, n) => before[i]! + n * unitCost))
          expect(own.at(-1)! + unitCost).toBe(ends[i])
        })
      }),
    )
  })
})

describe('takeInTurns', () => {
  const backlogs = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.integer({ min: 1, max: 40 }))
  const queuesOf = (backlog: Record<string, number>) =>
    new Map(
      Object.entries(backlog).map(([tenant, size]) => [
        tenant,
        Array.from({ length: size }, (_, i) => `${tenant}${i}`),
      ]),
    )

  it('loses nothing, doubles nothing, keeps the order of a tenant and takes as many as it may', () => {
    fc.assert(
      fc.property(backlogs, fc.integer({ min: 0, max: 120 }), (backlog, max) => {
        const queues = queuesOf(backlog)
        const all = [...queues.values()].flat()
        const taken = takeInTurns(queues, max)
        expect(taken.length).toBe(Math.min(max, all.length))
        expect([...taken, ...[...queues.values()].flat()].sort()).toEqual(all.sort())
        for (const [tenant, rest] of queuesOf(backlog)) {
          const own = taken.filter((item) => item.startsWith(tenant))
          expect([...own, ...(queues.get(tenant) ?? [])]).toEqual(rest)
        }
        expect([...queues.values()].every((queue) => queue.length > 0)).toBe(true)
      }),
    )
  })

  it('takes at most half from one tenant while others have work', () => {
    fc.assert(
      fc.property(backlogs, fc.integer({ min: 1, max: 120 }), (backlog, max) => {
        const queues = queuesOf(backlog)
        const taken = Map.groupBy(takeInTurns(queues, max), (item) => item[0]!)
        for (const [tenant, own] of taken) {
          const othersWait = [...queues.keys()].some((other) => other !== tenant)
          if (othersWait) expect(own.length).toBeLessThanOrEqual(Math.ceil(max / 2))
        }
      }),
    )
  })

  it('gives every tenant its turn over several calls, though one call cannot serve them all', () => {
    const queues = queuesOf({ a: 10, b: 10, c: 10 })
    expect([1, 2, 3, 4].map(() => takeInTurns(queues, 1)[0])).toEqual(['a0', 'b0', 'c0', 'a1'])
  })

  it('over many calls, serves all tenants that have work alike, up to the share of one call', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 12 }), fc.integer({ min: 1, max: 8 }), (tenants, max) => {
        const queues = new Map(
          Array.from({ length: tenants }, (_, i) => [`t${i}`, new Array<string>(200).fill(`t${i}`)]),
        )
        const taken = Array.from({ length: 24 }, () => takeInTurns(queues, max)).flat()
        const counts = Array.from({ length: tenants }, (_, i) => taken.filter((item) => item === `t${i}`).length)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(Math.ceil(max / 2))
      }),
    )
  })
})

function byPoolLaneTenant(a: Flow, b: Flow): number {
  if (a.pool !== b.pool) return a.pool < b.pool ? -1 : 1
  if (a.lane !== b.lane) return a.lane - b.lane
  return a.tenant < b.tenant ? -1 : 1
}
