import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Crew } from './crew.ts'
import type { Order } from './seed-process.ts'
import type { SeedReport } from './simulation.ts'
import { addUp } from './totals.ts'

const mostSeeds = 20

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

/** Seeds from that one on, until the checker has found something. */
async function isFound({
  variant,
  checker,
  from,
}: {
  variant: string
  checker: string
  from: number
}): Promise<boolean> {
  let seed = from
  let found = false
  await crew.work(
    () => (found || seed >= from + mostSeeds ? null : { seed: seed++, variant }),
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
    ['retries-in-memory', 'store-invariants', 1],
    // It takes a leader whose clock is ahead, which not many seeds have.
    ['early-fire', 'never-early', 31],
    ['counts-cached', 'runs-follow-their-steps', 1],
    ['slots-not-counted', 'slots-are-kept', 1],
    ['list-read-twice', 'runs-end-their-executions', 1],
    ['followers-after-commit', 'ends-are-followed', 1],
    ['slots-of-limits-not-counted', 'limits-are-kept', 1],
    ['slot-kept-by-retries', 'everything-ends', 1],
  ] as const)('finds %s', async (variant, checker, from) => {
    expect(await isFound({ variant, checker, from })).toBe(true)
  })
})
