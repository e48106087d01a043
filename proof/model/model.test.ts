import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { type Seen, seenInDatabase } from './observe.ts'
import { Rig } from './rig.ts'
import { missing, type Outcome, repeat, run } from './run.ts'
import { shrink, storyOf } from './shrink.ts'

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

describe('Carillon beside the oracle', () => {
  const random = randomInt(1_000_000_000)
  it('does and says the same, whatever can happen', { timeout: 240_000 }, async () => {
    const outcome = await run(rig, { seed: 31, steps: 600, mostSteps: 4_000 })
    if (outcome.difference) expect.fail(await shortStory(outcome))
    // What never happened was not compared.
    expect(missing(outcome)).toEqual([])
  })

  it(`does and says the same with another seed every time: ${random}`, { timeout: 120_000 }, async () => {
    const outcome = await run(rig, { seed: random, steps: 500 })
    if (outcome.difference) expect.fail(await shortStory(outcome))
  })

  it('repeats a run to the letter', async () => {
    const first = await run(rig, { seed: 7, steps: 150 })
    const seen = await seenInDatabase(rig.database)
    expect(first.difference).toBeNull()
    const second = await repeat(rig, first)
    expect(second.steps).toEqual(first.steps)
    expect(second.succeeded).toEqual(first.succeeded)
    const again = await seenInDatabase(rig.database)
    expect(ofOurIds(again)).toEqual(ofOurIds(seen))
  })
})

async function shortStory(outcome: Outcome): Promise<string> {
  return storyOf(await shrink(rig, outcome, { withinMs: 20_000, now: () => performance.now() }))
}

/** What SQL enqueues has ids that are not ours to choose. */
function ofOurIds(seen: Seen): Seen {
  return new Map([...seen].filter(([key, { origin }]) => !key.startsWith('enqueued') && origin !== 'SUBMIT'))
}
