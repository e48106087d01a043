import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { breakIt, broken } from './broken.ts'
import { brokenFollowers } from './broken-followers.ts'
import { brokenRuns } from './broken-runs.ts'
import { Rig } from './rig.ts'
import { type Outcome, run } from './run.ts'
import { shrink } from './shrink.ts'

let home: TestDatabase
let rig: Rig

beforeAll(async () => {
  home = await createDatabase()
  rig = new Rig(home.url)
  await rig.install()
})

afterAll(async () => {
  await rig.end()
  await home.drop()
})

describe('the comparison finds', () => {
  it.each(broken)('$name', { timeout: 120_000 }, async (variant) => {
    const repair = await breakIt(rig.database, variant)
    try {
      expect((await firstDifference()).difference).not.toBeNull()
    } finally {
      await repair()
    }
  })

  it.each([broken[0]!, brokenRuns[0]!, brokenFollowers[0]!])(
    'in fewer steps: $name',
    { timeout: 60_000 },
    async (variant) => {
      const repair = await breakIt(rig.database, variant)
      try {
        const found = await firstDifference()
        // By tries, not by time: a busy machine must find as much.
        let tries = 0
        const shorter = await shrink(rig, found, { withinMs: 30, now: () => tries++ })
        expect(shorter.difference).not.toBeNull()
        expect(shorter.steps.length).toBeLessThan(found.steps.length)
      } finally {
        await repair()
      }
    },
  )

  it('nothing where nothing is broken, and refuses a variant that breaks nothing', async () => {
    expect((await run(rig, { seed: 1, steps: 100 })).difference).toBeNull()
    await expect(breakIt(rig.database, { ...broken[0]!, text: 'is not there' })).rejects.toThrow('breaks nothing')
  })
})

async function firstDifference(): Promise<Outcome> {
  let outcome: Outcome | null = null
  for (let seed = 1; seed <= 20 && !outcome?.difference; seed++) outcome = await run(rig, { seed, steps: 250 })
  return outcome!
}
