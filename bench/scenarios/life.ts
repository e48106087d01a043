/**
 * The whole life at once: a generator submits in bulk while two remote worker processes lease, run and complete. It is kept
 * from running far ahead of the workers, so that the queue stays short and what is measured is a steady state. Only what
 * the ledger says was submitted, and what it says was finished, in the measured time counts: the lesser of the two.
 *
 * Beside another checkout the two take turns: what the machine does to one it does to the other. What PostgreSQL used is
 * compared by the medians. The workers of one are stopped while it is the other's turn.
 */
import type { Installation, Workers } from '../ground/ground.ts'
import { concurrency, loadText, startLife, submitInBulk } from '../load/steady-life.ts'
import { cpuPer } from '../measure/cpu.ts'
import { inRounds, inTurns, type Round, resultOf, spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Result, type Scenario } from '../scenario.ts'

const target = 20_000
/** PostgreSQL's CPU of an execution, as a part of what it is in 7aa7986. */
const postgresTarget = 0.6

export const scenario: Scenario = {
  name: 'life',
  summary: 'submitted in bulk, leased, run and completed at the same time',
  limitMinutes: 40,
  async run(bench) {
    const seconds = bench.size(60, 10)
    await using installation = await bench.ground.installation()
    const detail = {
      seconds,
      load: loadText,
      concurrency: `5 handlers x ${concurrency} in each of 2 workers`,
    }
    const what = { name: 'life', unit: '/s', target, better: 'higher', detail } as const
    if (bench.beside === null) {
      const rounds = await inRounds(bench, { name: 'life', unit: '/s', valueOf: (round) => round.value }, () =>
        live(bench, installation, seconds),
      )
      return [resultOf(what, rounds)]
    }
    await using other = await bench.ground.installation({ checkout: bench.beside })
    const turns = [
      { name: 'life', installation },
      { name: 'life beside', installation: other },
    ]
    const measured = await inTurns(bench, turns, { unit: '/s', valueOf: ({ value }: Round) => value }, (turn) =>
      live(bench, turn.installation, seconds),
    )
    const [here, there] = turns.map((turn) => measured.get(turn)!) as [Round[], Round[]]
    return [resultOf(what, here), resultOf({ ...what, name: 'life beside', target: null }, there), ratio(here, there)]
  },
}

function ratio(here: Round[], there: Round[]): Result {
  const postgres = (rounds: Round[]) =>
    spreadOf(rounds.map(({ cpu, count }) => cpuPer(cpu!, count!)['cpu postgres µs']!)).median
  return judged({
    name: 'life PostgreSQL CPU / beside',
    value: tidy(postgres(here) / postgres(there)),
    unit: 'x',
    target: postgresTarget,
    better: 'lower',
  })
}

/** `beforehand` is called when the workers wait. */
export async function live(
  bench: Bench,
  installation: Installation,
  seconds: number,
  { beforehand, limitKeys }: { beforehand?: (workers: Workers) => Promise<void>; limitKeys?: number } = {},
): Promise<Round> {
  await using workers = await installation.startWorkers(2, { concurrency })
  await beforehand?.(workers)
  await using life = await startLife(bench, installation, workers, () =>
    submitInBulk(bench, installation, { limitKeys }),
  )
  await life.goOn(bench.size(5, 3))
  const stretch = await life.goOn(seconds)
  await life.end()
  await workers.stop()
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
