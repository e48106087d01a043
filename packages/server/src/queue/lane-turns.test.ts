import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LaneTurns, laneTurn } from './lane-turns.ts'
import { countLanes, laneCount, leaseLanes } from './lease-lanes.test-support.ts'

describe('leases one at a time', () => {
  it('of any 20 one goes to a lower lane that has work', () => {
    const leased = leaseOneByOne([1_000, 1_000, 0, 0], 200)
    expect(leased.slice(0, 20)).toEqual([...new Array<number>(19).fill(0), 1])
    expect(longestRun(leased, 0)).toBe(laneTurn - 1)
  })

  it('the lowest lane has its turn among the lower ones', () => {
    const leased = leaseOneByOne([1_000, 1_000, 1_000, 1_000], 8_000)
    expect([0, 1, 2, 3].map((lane) => leased.filter((l) => l === lane).length > 0)).toEqual([true, true, true, true])
    for (const lane of [0, 1, 2]) {
      const fromHere = leased.filter((l) => l >= lane)
      expect(longestRun(fromHere, lane)).toBe(laneTurn - 1)
    }
  })

  it('a lane is not passed over for the sake of one that is empty', () => {
    // HIGH alone for a while, so that LOW would be next; then CRITICAL comes and stays.
    const turns = new LaneTurns()
    for (let i = 0; i < 40; i++) turns.leased(countLanes(leaseLanes([0, 1, 0, 0], turns.since, 1)))
    const leased = leaseOneByOne([1_000, 1_000, 0, 0], 100, turns)
    expect(longestRun(leased, 0)).toBeLessThan(laneTurn)
  })

  it('strict order otherwise: nothing goes to a lower lane before its turn', () => {
    expect(leaseOneByOne([10, 10, 0, 0], 20)).toEqual([
      ...new Array<number>(10).fill(0),
      ...new Array<number>(10).fill(1),
    ])
  })
})

describe('leases in batches', () => {
  const counts: fc.Arbitrary<number[]> = fc.array(fc.integer({ min: 0, max: 30 }), {
    minLength: laneCount,
    maxLength: laneCount,
  })
  const rounds = fc.record({
    arrivals: fc.oneof(counts, fc.constant<number[]>([40, 40, 0, 0])),
    slots: fc.integer({ min: 1, max: 60 }),
  })

  it('uses every slot that there is work for', () => {
    fc.assert(
      fc.property(fc.array(rounds, { maxLength: 60 }), (life) => {
        const turns = new LaneTurns()
        const waiting = [0, 0, 0, 0]
        for (const { arrivals, slots } of life) {
          arrivals.forEach((count, lane) => {
            waiting[lane]! += count
          })
          const before = sum(waiting)
          const leased = leaseLanes(waiting, turns.since, slots)
          expect(leased.length).toBe(Math.min(slots, before))
          turns.leased(countLanes(leased))
        }
      }),
    )
  })

  it('of any 20 in a row at least one goes to a lower lane that has work', () => {
    fc.assert(
      fc.property(fc.array(rounds, { minLength: 5, maxLength: 80 }), (life) => {
        const turns = new LaneTurns()
        const waiting = [0, 0, 0, 0]
        const runs = [0, 0, 0]
        for (const { arrivals, slots } of life) {
          arrivals.forEach((count, lane) => {
            waiting[lane]! += count
          })
          const leased = leaseLanes(waiting, turns.since, slots)
          turns.leased(countLanes(leased))
          for (const lane of [0, 1, 2]) {
            const lowerWaits = sum(waiting.slice(lane + 1)) > 0
            const run = runAfter(runs[lane]!, leased, lane)
            if (lowerWaits) expect(run, `leases of lane ${lane} in a row`).toBeLessThan(laneTurn)
            runs[lane] = Math.min(run, laneTurn - 1)
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})

/**
 * Leases of one call have no order among themselves. Put in the best one, every lease of a lower lane is preceded by 19
 * of this lane: how many of this lane stand at the end?
 */
function runAfter(before: number, leased: readonly number[], lane: number): number {
  const own = leased.filter((l) => l === lane).length
  const lower = leased.filter((l) => l > lane).length
  return Math.max(0, before + own - lower * (laneTurn - 1))
}

function leaseOneByOne(waiting: number[], count: number, turns = new LaneTurns()): number[] {
  return Array.from({ length: count }, () => {
    const leased = leaseLanes(waiting, turns.since, 1)
    turns.leased(countLanes(leased))
    return leased
  }).flat()
}

function longestRun(leased: readonly number[], lane: number): number {
  let longest = 0
  let run = 0
  for (const l of leased) {
    run = l === lane ? run + 1 : 0
    longest = Math.max(longest, run)
  }
  return longest
}

function sum(counts: readonly number[]): number {
  return counts.reduce((a, b) => a + b, 0)
}
