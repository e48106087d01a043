/**
 * How long it takes from a submission to the first line of its handler in a remote worker, when there is nothing else to
 * do. From just before the request is written in one process until the handler begins in another, on a clock both share.
 */
import type { Installation, Run, Workers } from '../ground/ground.ts'
import type { PickupOptions, Submitted } from '../load/pickup.ts'
import { monotonicMs } from '../measure/clock.ts'
import { cpuBetween, cpuShares } from '../measure/cpu.ts'
import { quantiles } from '../measure/quantiles.ts'
import { inRounds, resultOf } from '../measure/rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const load = new URL('../load/pickup.ts', import.meta.url)
const pauses = { leastPauseMs: 20, mostPauseMs: 60 }
/** Before the first round: code that has never run is slower than code that has. */
const warmUp = 100
const patienceMs = 10_000
const tellEveryMs = 5_000

export const scenario: Scenario = {
  name: 'pickup',
  summary: 'from submission to handler start in a remote worker, idle installation',
  async run(bench) {
    await using installation = await bench.ground.installation()
    await using workers = await installation.startWorkers(1, { record: true })
    const sample = (submissions: number) => pickUp(bench, installation, workers, { submissions })
    bench.progress(`pickup: ${warmUp} submissions to warm up`)
    await sample(warmUp)
    const what = { name: 'pickup p99', unit: 'ms', valueOf: ({ p99 }: Pickups) => p99 }
    const rounds = await inRounds(bench, what, () => sample(bench.size(500, 100)))
    const detail = { samples: bench.size(500, 100), 'worker processes': 1 }
    return [
      resultOf(
        { name: 'pickup p50', unit: 'ms', target: 3, better: 'lower', detail },
        rounds.map(({ p50, answerP50, cpu }) => ({ value: p50, detail: { 'answer p50 ms': answerP50, ...cpu } })),
      ),
      resultOf(
        { name: 'pickup p99', unit: 'ms', target: 15, better: 'lower' },
        rounds.map(({ p99, p95, longest }) => ({ value: p99, detail: { 'p95 ms': p95, 'longest ms': longest } })),
      ),
    ]
  },
}

export interface Pickups {
  p50: number
  p95: number
  p99: number
  longest: number
  /** From before the request is written until the submitter has the answer. */
  answerP50: number
  cpu: Record<string, number>
}

/** Submits so many, one after the other. The workers record; whatever was submitted before has begun. */
export async function pickUp(
  bench: Bench,
  { urls, tokens }: Installation,
  workers: Workers,
  { submissions, queued }: { submissions: number; queued?: boolean },
): Promise<Pickups> {
  const options: PickupOptions = { url: urls[0]!, tokens, submissions, queued, ...pauses }
  const wanted = workers.count() + submissions
  const from = monotonicMs()
  const before = await bench.ground.cpu()
  const generator = await bench.ground.generate<Submitted[]>(load, options)
  const telling = setInterval(() => bench.progress(`${generator.said()} of ${submissions} submitted`), tellEveryMs)
  const submitted = await generator.answer.finally(() => clearInterval(telling))
  await workers.reached(wanted, patienceMs)
  const cpu = cpuShares(cpuBetween(before, await bench.ground.cpu()), monotonicMs() - from)
  return pickupsOf(submitted, await workers.runs(), cpu)
}

function pickupsOf(submitted: Submitted[], runs: Run[], cpu: Record<string, number>): Pickups {
  const startedAt = new Map(runs.map((run) => [run.executionId, run.startedMonotonic]))
  if (runs.length !== submitted.length || startedAt.size !== submitted.length) {
    throw new Error(`${submitted.length} were submitted, ${startedAt.size} were run, ${runs.length} times`)
  }
  const tookMs = submitted.map(({ executionId, sentAt }) => startedAt.get(executionId)! - sentAt)
  const [p50, p95, p99, longest] = quantiles(tookMs, [0.5, 0.95, 0.99, 1]) as [number, number, number, number]
  const [answerP50] = quantiles(
    submitted.map(({ sentAt, answeredAt }) => answeredAt - sentAt),
    [0.5],
  ) as [number]
  return { p50, p95, p99, longest, answerP50, cpu }
}
