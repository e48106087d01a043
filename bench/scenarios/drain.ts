/**
 * How fast two remote worker processes drain ready executions that do nothing. The executions come in through the API
 * while the pool is paused; the workers are connected and registered meanwhile. The clock runs from the request that
 * resumes the pool until every worker has every end answered, which is after its commit. Then the ledger is counted.
 */

import type { Installation, Workers } from '../ground/ground.ts'
import type { BatchesAnswer, BatchesOptions } from '../load/batches.ts'
import { monotonicMs } from '../measure/clock.ts'
import { cpuBetween } from '../measure/cpu.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

/** Of each of the five handlers, in each of the two workers. Handlers that wait for nothing need no more. */
export const concurrency = 40
export const warmUp = 5_000
const longestMs = 300_000

export const scenario: Scenario = {
  name: 'drain',
  summary: 'ready no-op executions drained by two remote worker processes',
  async run(bench) {
    await using installation = await bench.ground.installation()
    const workers = await installation.startWorkers(2, { concurrency })
    const count = bench.size(200_000, 30_000)
    await drain(bench, installation, workers, bench.size(warmUp, warmUp))
    const rounds = await inRounds(bench, { name: 'drain', unit: '/s', valueOf: (round) => round.value }, () =>
      drain(bench, installation, workers, count),
    )
    const detail = {
      executions: count,
      concurrency: `5 handlers x ${concurrency} in each of 2 workers`,
      stretch: 31_000,
    }
    return [resultOf({ name: 'drain', unit: '/s', target: null, better: 'higher', detail }, rounds)]
  },
}

/** Submits so many with the pool paused, and has them drained. */
export async function drain(
  bench: Bench,
  installation: Installation,
  workers: Workers,
  count: number,
  load: Partial<BatchesOptions> = {},
): Promise<Round> {
  await installation.request('POST /v1/pools/default/pause')
  const since = await installation.now()
  const { elapsedMs } = await submitAll(bench, installation, count, load)
  const begun = workers.count()
  const before = await bench.ground.cpu()
  const startedAt = monotonicMs()
  await installation.request('POST /v1/pools/default/resume')
  const endedAt = await workers.finished(begun + count, longestMs)
  const cpu = cpuBetween(before, await bench.ground.cpu())
  const { total, succeeded, extraAttempts, firstStartedAt, lastFinishedAt } = await installation.ledger(since)
  if (total !== count || succeeded !== count || extraAttempts !== 0) {
    throw new Error(`the ledger has ${succeeded} of ${total} done, ${extraAttempts} tried again; expected ${count}`)
  }
  return {
    value: (count * 1_000) / (endedAt - startedAt),
    cpu,
    count,
    detail: {
      'by the ledger /s': (count * 1_000) / (lastFinishedAt! - firstStartedAt!),
      'submitted /s': (count * 1_000) / elapsedMs,
    },
  }
}

async function submitAll(
  bench: Bench,
  { urls, tokens }: Installation,
  count: number,
  changed: Partial<BatchesOptions>,
): Promise<BatchesAnswer> {
  const load: BatchesOptions = { urls, tokens, batch: 500, inFlight: 4, count, ...changed }
  const generator = await bench.ground.generate<BatchesAnswer>(new URL('../load/batches.ts', import.meta.url), load)
  generator.go()
  return generator.answer
}
