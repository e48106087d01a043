/**
 * The whole life at once: a generator submits in bulk while two remote worker processes lease, run and complete. It is kept
 * from running far ahead of the workers, so that the queue stays short and what is measured is a steady state. Only what
 * the ledger says was submitted, and what it says was finished, in the measured time counts: the lesser of the two.
 */
import type { Installation, Workers } from '../ground/ground.ts'
import { concurrency, loadText, startLife } from '../load/steady-life.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const target = 16_700

export const scenario: Scenario = {
  name: 'life',
  summary: 'submitted in bulk, leased, run and completed at the same time',
  async run(bench) {
    await using installation = await bench.ground.installation()
    const workers = await installation.startWorkers(2, { concurrency })
    const seconds = bench.size(60, 10)
    const rounds = await inRounds(bench, { name: 'life', unit: '/s', valueOf: (round) => round.value }, () =>
      live(bench, installation, workers, seconds),
    )
    const detail = {
      seconds,
      load: loadText,
      concurrency: `5 handlers x ${concurrency} in each of 2 workers`,
      stretch: 20_000,
    }
    return [resultOf({ name: 'life', unit: '/s', target, better: 'higher', detail }, rounds)]
  },
}

async function live(bench: Bench, installation: Installation, workers: Workers, seconds: number): Promise<Round> {
  await using life = await startLife(bench, installation, workers)
  await life.goOn(bench.size(5, 3))
  const stretch = await life.goOn(seconds)
  await life.end()
  const { rate, submitted, finished, p50Ms, p99Ms } = await life.lifeIn(stretch)
  const elapsedSec = (stretch.until - stretch.from) / 1_000
  return {
    value: rate,
    cpu: stretch.cpu,
    count: finished,
    detail: {
      'submitted /s': submitted / elapsedSec,
      'finished /s': finished / elapsedSec,
      'from submission to end p50 ms': p50Ms,
      'from submission to end p99 ms': p99Ms,
    },
  }
}
