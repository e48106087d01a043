import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WeightOf } from './fairness.ts'
import { Turns } from './turns.ts'

const tenants = ['a', 'b', 'c', 'd', 'e'] as const
const backlogs = fc.dictionary(fc.constantFrom(...tenants), fc.integer({ min: 1, max: 40 }))
const weights = fc.dictionary(fc.constantFrom(...tenants), fc.integer({ min: 1, max: 1_000 }))

function turnsOf(backlog: Record<string, number>, weightOf?: WeightOf): Turns<string> {
  const turns = new Turns<string>(weightOf)
  for (const [tenant, size] of Object.entries(backlog)) {
    for (let i = 0; i < size; i++) turns.add(tenant, `${tenant}${i}`)
  }
  return turns
}

const tenantOf = (item: string) => item[0]!
const countOf = (taken: string[], tenant: string) => taken.filter((item) => tenantOf(item) === tenant).length

describe('turns', () => {
  it('lose nothing, double nothing, keep the order of a tenant and take as many as they may', () => {
    fc.assert(
      fc.property(backlogs, weights, fc.array(fc.integer({ min: 0, max: 50 })), (backlog, weightOf, calls) => {
        const turns = turnsOf(backlog, (tenant) => weightOf[tenant] ?? 1)
        const all = [...turns.items()]
        const taken: string[] = []
        for (const max of calls) {
          const left = all.length - taken.length
          const batch = turns.take(max)
          expect(batch.length).toBe(Math.min(max, left))
          taken.push(...batch)
        }
        expect([...taken, ...turns.items()].toSorted()).toEqual(all.toSorted())
        for (const tenant of Object.keys(backlog)) {
          const own = [...taken, ...turns.items()].filter((item) => tenantOf(item) === tenant)
          expect(own).toEqual(own.map((_, i) => `${tenant}${i}`))
        }
        expect(turns.size).toBe(new Set(Array.from(turns.items(), tenantOf)).size)
      }),
    )
  })

  it('of equal weights take at most half from one tenant while others have work', () => {
    fc.assert(
      fc.property(backlogs, fc.integer({ min: 1, max: 120 }), (backlog, max) => {
        const turns = turnsOf(backlog)
        const taken = turns.take(max)
        for (const tenant of tenants) {
          const othersWait = [...turns.items()].some((item) => tenantOf(item) !== tenant)
          if (othersWait) expect(countOf(taken, tenant)).toBeLessThanOrEqual(Math.ceil(max / 2))
        }
      }),
    )
  })

  it('go on where the call before ended, though one call cannot serve all', () => {
    const turns = turnsOf({ a: 10, b: 10, c: 10 })
    expect([1, 2, 3, 4].map(() => turns.take(1)[0])).toEqual(['a0', 'b0', 'c0', 'a1'])
    const weighted = turnsOf({ a: 10, b: 10 }, (tenant) => (tenant === 'a' ? 3 : 1))
    expect(Array.from({ length: 8 }, () => weighted.take(1)[0]!).map(tenantOf)).toEqual([...'abaaabaa'])
  })

  it('serve tenants by their weights while both have work, whatever the size of a call', () => {
    const weight = fc.integer({ min: 1, max: 1_000 })
    fc.assert(
      fc.property(weight, weight, fc.integer({ min: 1, max: 500 }), (a, b, max) => {
        const turns = turnsOf({ a: 2_000, b: 2_000 }, (tenant) => (tenant === 'a' ? a : b))
        const counts = { a: 0, b: 0 }
        while (counts.a < 1_500 && counts.b < 1_500) {
          const taken = turns.take(Math.min(max, 500))
          counts.a += countOf(taken, 'a')
          counts.b += countOf(taken, 'b')
          // In turns: each has had its part, but for the one under way.
          expect(Math.abs(counts.a / a - counts.b / b)).toBeLessThanOrEqual(1 / a + 1 / b + 1e-6)
        }
      }),
      { numRuns: 30 },
    )
  })

  it('let a tenant that comes begin at once, without what it has not used before', () => {
    const turns = turnsOf({ a: 100 })
    turns.take(50)
    for (let i = 0; i < 20; i++) turns.add('b', `b${i}`)
    const taken = turns.take(20)
    expect(countOf(taken, 'b')).toBe(10)
    expect(taken.slice(0, 2).map(tenantOf)).toContain('b')
  })
})
