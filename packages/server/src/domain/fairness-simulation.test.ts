/** Fair sharing as a whole: tags given on arrival, the smallest leased first, V the largest tag leased. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { equalWeights, groupByFlow, tagsFor, type WeightOf } from './fairness.ts'

interface Waiting {
  tenant: string
  tag: number
  arrival: number
}

/** One lane of one pool. */
class Lane {
  #virtualTime = 0
  readonly #lastTags = new Map<string, number>()
  readonly #weightOf: WeightOf
  #waiting: Waiting[] = []
  #arrivals = 0

  constructor(weightOf = equalWeights) {
    this.#weightOf = weightOf
  }

  arrive(tenant: string, count: number): void {
    const items = Array.from({ length: count }, () => ({ pool: 'p', lane: 0, tenant }))
    const requests = groupByFlow(items, this.#weightOf)
    // As carillon.reserve_tags does.
    const last = requests.map((r) => Math.max(this.#lastTags.get(tenant) ?? 0, this.#virtualTime) + r.count * r.cost)
    requests.forEach((r, i) => {
      this.#lastTags.set(r.tenant, last[i]!)
    })
    for (const tag of tagsFor(items, requests, last)) this.#waiting.push({ tenant, tag, arrival: this.#arrivals++ })
  }

  /** Starts up to `slots`, smallest tags first; of equal tags the newest, the worst for who came last is chosen. */
  lease(slots: number, last: string): string[] {
    this.#waiting.sort(
      (a, b) => a.tag - b.tag || Number(a.tenant === last) - Number(b.tenant === last) || a.arrival - b.arrival,
    )
    const leased = this.#waiting.splice(0, slots)
    this.#virtualTime = Math.max(this.#virtualTime, ...leased.map(({ tag }) => tag))
    return leased.map(({ tenant }) => tenant)
  }
}

/** How many executions of others start before the first of `newcomer`. */
function startsBefore(lane: Lane, newcomer: string, slots: number): number {
  for (let starts = 0; ; ) {
    for (const tenant of lane.lease(slots, newcomer)) {
      if (tenant === newcomer) return starts
      starts++
    }
  }
}

const backlog = fc.integer({ min: 100, max: 300 })
const slotCount = fc.integer({ min: 1, max: 12 })
const rounds = fc.integer({ min: 0, max: 7 })

describe('a tenant that arrives beside a huge backlog', () => {
  it('starts after at most one start of the other', () => {
    fc.assert(
      fc.property(backlog, slotCount, rounds, (size, slots, leasesBefore) => {
        const lane = new Lane()
        lane.arrive('A', size)
        for (let i = 0; i < leasesBefore; i++) lane.lease(slots, 'B')
        lane.arrive('B', 1)
        expect(startsBefore(lane, 'B', slots)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('takes turns with it from then on', () => {
    fc.assert(
      fc.property(backlog, rounds, (size, leasesBefore) => {
        const lane = new Lane()
        lane.arrive('A', size)
        for (let i = 0; i < leasesBefore; i++) lane.lease(3, 'B')
        lane.arrive('B', 20)
        startsBefore(lane, 'B', 1)
        const next = Array.from({ length: 30 }, () => lane.lease(1, 'B')[0])
        expect(next.filter((tenant) => tenant === 'B').length).toBeGreaterThanOrEqual(14)
      }),
    )
  })

  it('saved nothing up while it was idle', () => {
    const lane = new Lane()
    lane.arrive('B', 1)
    lane.lease(1, 'B')
    lane.arrive('A', 200)
    for (let i = 0; i < 100; i++) lane.lease(1, 'B')
    lane.arrive('B', 50)
    const next = Array.from({ length: 40 }, () => lane.lease(1, 'B')[0])
    expect(next.filter((tenant) => tenant === 'A').length).toBeGreaterThanOrEqual(19)
  })
})

describe('a tenant that arrives beside many others with backlogs', () => {
  it('waits for at most one start of each, and so for less than ceil(W / w) + S', () => {
    const many = fc.array(fc.integer({ min: 20, max: 60 }), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(many, slotCount, rounds, (backlogs, slots, leasesBefore) => {
        const lane = new Lane()
        backlogs.forEach((size, i) => {
          lane.arrive(`T${i}`, size)
        })
        for (let i = 0; i < leasesBefore; i++) lane.lease(slots, 'B')
        lane.arrive('B', 1)
        expect(startsBefore(lane, 'B', slots)).toBeLessThanOrEqual(backlogs.length)
      }),
    )
  })
})

describe('tenants of different weights, all with backlogs', () => {
  const weight = fc.integer({ min: 1, max: 1_000 })

  it('two of them start by their weights: at no time is one ahead by more than an execution of each', () => {
    fc.assert(
      fc.property(weight, weight, slotCount, (a, b, slots) => {
        const lane = new Lane((tenant) => (tenant === 'A' ? a : b))
        // In pieces: some arrive while others are leased.
        const arrive = () => {
          lane.arrive('A', 60)
          lane.arrive('B', 60)
        }
        arrive()
        let [ofA, ofB, arrived] = [0, 0, 60]
        for (let starts = 0; starts < 400; starts += slots) {
          if (arrived - Math.max(ofA, ofB) < 2 * slots) {
            arrive()
            arrived += 60
          }
          for (const tenant of lane.lease(slots, 'B')) tenant === 'A' ? ofA++ : ofB++
          // Costs are whole numbers: over n starts that is up to 0.8 % of n.
          expect(Math.abs(ofA / a - ofB / b)).toBeLessThanOrEqual((1 / a + 1 / b) * (1.01 + 0.008 * starts))
        }
      }),
      { numRuns: 200 },
    )
  })

  it('two of them wait for at most ceil(W / w) + S starts of the other', () => {
    fc.assert(
      fc.property(weight, weight, slotCount, (a, b, slots) => {
        const lane = new Lane((tenant) => (tenant === 'A' ? a : b))
        lane.arrive('A', 3_000)
        lane.arrive('B', 30)
        for (let i = 0; i < 2; i++)
          expect(startsBefore(lane, 'B', 1)).toBeLessThanOrEqual(Math.ceil((a + b) / b) + slots)
      }),
      { numRuns: 200 },
    )
  })

  it('many wait for at most floor(w of the other / own w) + 1 starts of each other', () => {
    const others = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(others, fc.integer({ min: 1, max: 50 }), (weights, own) => {
        const lane = new Lane((tenant) => (tenant === 'B' ? own : weights[Number(tenant.slice(1))]!))
        weights.forEach((_, i) => {
          lane.arrive(`T${i}`, 300)
        })
        lane.arrive('B', 6)
        const most = weights.reduce((sum, w) => sum + Math.floor(w / own) + 1, 0)
        for (let i = 0; i < 4; i++) expect(startsBefore(lane, 'B', 1)).toBeLessThanOrEqual(most)
      }),
    )
  })
})
