import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Crew } from './crew.ts'
import type { Order } from './seed-process.ts'
import type { SeedReport } from './simulation.ts'

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

/** Seeds from 1 on, until something is found. */
async function seedsUntilFound(variant: string, most: number): Promise<SeedReport | null> {
  let seed = 1
  let found: SeedReport | null = null
  await crew.work(
    () => (found !== null || seed > most ? null : { seed: seed++, variant }),
    (_, report) => {
      if (report.violations.length > 0) found ??= report
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
  })

  it.each([
    ['report-and-hand-back-unordered', 'what-ran-is-not-handed-back'],
    ['retries-in-memory', 'store-invariants'],
    ['old-version-fires', 'fires-from-the-version-that-stands'],
  ])('finds %s', async (variant, checker) => {
    const found = await seedsUntilFound(variant, 10)
    expect(found?.violations.map((violation) => violation.checker)).toContain(checker)
  })
})
