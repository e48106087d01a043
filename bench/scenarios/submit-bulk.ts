/**
 * How fast many submissions come in at once: POST /v1/jobs/batch, and the library's `enqueueMany`. No worker runs, and
 * what is submitted stays. The clock runs in the generator, from the first request to the last answer; the ledger is
 * counted afterwards.
 */

import type { Installation } from '../ground/ground.ts'
import type { BatchesAnswer, BatchesOptions } from '../load/batches.ts'
import type { LibraryBatchesOptions } from '../load/library-batches.ts'
import { cpuBetween } from '../measure/cpu.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Result, Scenario } from '../scenario.ts'

const batch = 1_000
const inFlight = 4
const warmUp = 5_000

type Way = (installation: Installation, count: number) => { module: string; options: object }

const ways: Record<string, Way> = {
  'submit-bulk http': ({ urls, tokens }, count) => ({
    module: '../load/batches.ts',
    options: { urls, tokens, batch, inFlight, count } satisfies BatchesOptions,
  }),
  'submit-bulk library': ({ databaseUrl, tenants }, count) => ({
    module: '../load/library-batches.ts',
    options: { databaseUrl, tenants, batch, inFlight, count } satisfies LibraryBatchesOptions,
  }),
}

export const scenario: Scenario = {
  name: 'submit-bulk',
  summary: 'bulk submissions over HTTP and by the library',
  async run(bench) {
    const results: Result[] = []
    for (const [name, way] of Object.entries(ways)) {
      await using installation = await bench.ground.installation()
      const count = bench.size(300_000, 50_000)
      await submit(bench, installation, way, bench.size(warmUp, warmUp))
      const rounds = await inRounds(bench, { name, unit: '/s', valueOf: (round) => round.value }, () =>
        submit(bench, installation, way, count),
      )
      const detail = { submissions: count, batches: `of ${batch}, ${inFlight} at a time`, stretch: 40_000 }
      results.push(resultOf({ name, unit: '/s', target: null, better: 'higher', detail }, rounds))
    }
    return results
  },
}

async function submit(bench: Bench, installation: Installation, way: Way, count: number): Promise<Round> {
  const { module, options } = way(installation, count)
  const since = await installation.now()
  const generator = await bench.ground.generate<BatchesAnswer>(new URL(module, import.meta.url), options)
  await generator.ready
  const before = await bench.ground.cpu()
  generator.go()
  const { submitted, elapsedMs } = await generator.answer
  const cpu = cpuBetween(before, await bench.ground.cpu())
  const { total, unfinished } = await installation.ledger(since)
  if (submitted !== count || total !== count || unfinished !== count) {
    throw new Error(`the ledger has ${unfinished} of ${total} to be done, ${submitted} answered; expected ${count}`)
  }
  return { value: (count * 1_000) / elapsedMs, cpu, count }
}
