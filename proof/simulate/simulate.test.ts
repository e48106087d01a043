import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Crew } from './crew.ts'
import type { Order } from './seed-process.ts'
import type { SeedReport } from './simulation.ts'
import { addUp } from './totals.ts'

let crew: Crew

beforeAll(async () => {
  crew = await Crew.gather(2)
})
afterAll(() => crew?.close())

async function run(orders: Order[]): Promise<SeedReport[]> {
  const reports: SeedReport[] = []
  const left = [...orders]
  await crew.work(
    () => left.shift() ?? null,
    (_, report) => reports.push(report),
  )
  return reports
}

/** Seeds from 1 on, until that checker has found something. */
async function isFound(variant: string, checker: string, most: number): Promise<boolean> {
  let seed = 1
  let found = false
  await crew.work(
    () => (found || seed > most ? null : { seed: seed++, variant }),
    (_, { violations }) => {
      found ||= violations.some((violation) => violation.checker === checker)
    },
  )
  return found
}

/** Seeds take as long as they take; on a busy machine that is long. */
describe('the simulator', { timeout: 180_000 }, () => {
  it('finds every promise kept, and a seed run again the same to the last statement', async () => {
    const reports = await run([1, 2, 1].map((seed) => ({ seed, variant: null })))
    expect(reports.flatMap(({ violations }) => violations)).toEqual([])
    const [first, again] = reports.filter(({ seed }) => seed === 1)
    expect(again!.digest).toBe(first!.digest)
    expect(again!.statements).toBe(first!.statements)
    for (const { fired, faults } of reports) {
      expect(fired).toBeGreaterThan(20)
      expect(Object.keys(faults).length).toBeGreaterThan(2)
    }
    const { graphs } = addUp(reports, 0)
    const wanted = ['item SUCCEEDED', 'inner run SUCCEEDED', 'signalled step SUCCEEDED', 'execution after another']
    for (const kind of wanted) expect(graphs[kind]).toBeGreaterThan(0)
  })

  it.each([
    ['retries-in-memory', 'store-invariants'],
    ['early-fire', 'never-early'],
    ['counts-cached', 'runs-follow-their-steps'],
    ['slots-not-counted', 'slots-are-kept'],
    ['list-read-twice', 'runs-end-their-executions'],
    ['followers-after-commit', 'ends-are-followed'],
    ['slots-of-limits-not-counted', 'limits-are-kept'],
    ['slot-kept-by-retries', 'everything-ends'],
  ])('finds %s', async (variant, checker) => {
    expect(await isFound(variant, checker, 20)).toBe(true)
  })
})
