/**
 * How late handlers begin under a steady load of schedules: jobs of a hundred tenants, each with an interval of one second
 * and a random phase, made over the API, run by two remote worker processes. The first seconds are not measured. Every
 * occurrence, those too, must be in the ledger, SUCCEEDED, and run once.
 */
import type { Installation, Workers } from '../ground/ground.ts'
import { createBeats, msToCreate } from '../load/create-jobs.ts'
import { wallMs } from '../measure/clock.ts'
import { type Cpu, cpuBetween, cpuShares } from '../measure/cpu.ts'
import { type Kept, keptOf, type Lateness, latenessOf, secondAhead, settled, untilWall } from '../measure/lateness.ts'
import { inRounds, resultOf } from '../measure/rounds.ts'
import type { Bench, Result, Scenario } from '../scenario.ts'

const targets = [
  { perSecond: 2_000, targetMs: 50 },
  { perSecond: 10_000, targetMs: 1_000 },
]
const tellEveryMs = 5_000
const patienceMs = 30_000

export const scenario: Scenario = {
  name: 'lateness',
  summary: 'handler start - due time at 2,000 and 10,000 fires a second, two remote worker processes',
  limitMinutes: 30,
  async run(bench) {
    const results: Result[] = []
    for (const { perSecond, targetMs } of targets) {
      await using installation = await bench.ground.installation()
      await using workers = await installation.startWorkers(2, { record: true })
      const name = `lateness ${perSecond}/s`
      const what = { name, unit: 'ms (p99)', valueOf: ({ lateness }: Steady) => lateness.p99 }
      const rounds = await inRounds(bench, what, () =>
        steady(bench, installation, workers, bench.size(perSecond, perSecond)),
      )
      results.push(...resultsOf(name, targetMs, rounds))
    }
    return results
  },
}

interface Steady {
  lateness: Lateness
  kept: Kept
  cpu: Cpu
  seconds: number
}

async function steady(bench: Bench, installation: Installation, workers: Workers, perSecond: number): Promise<Steady> {
  const seconds = bench.size(60, 12)
  const warmUpSec = bench.size(10, 3)
  const begunBefore = workers.count()
  const from = secondAhead(
    await msToCreate(installation, perSecond, Math.ceil(perSecond / installation.tenants.length)),
  )
  const began = performance.now()
  const jobIds = await createBeats(installation, { jobs: perSecond, from, seconds: warmUpSec + seconds })
  bench.progress(`${perSecond} jobs created in ${((performance.now() - began) / 1_000).toFixed(1)} s`)
  if (wallMs() > from) throw new Error('creating the jobs took longer than the time until their first occurrence')

  const window = { from: from + warmUpSec * 1_000, until: from + (warmUpSec + seconds) * 1_000 }
  await untilWall(window.from)
  const before = await bench.ground.cpu()
  for (let at = window.from; at < window.until; ) {
    const begun = workers.count()
    at = Math.min(at + tellEveryMs, window.until)
    await untilWall(at)
    const leftSec = Math.round((window.until - at) / 1_000)
    bench.progress(`${workers.count() - begun} handlers begun in ${tellEveryMs / 1_000} s; ${leftSec} s to go`)
  }
  const cpu = cpuBetween(before, await bench.ground.cpu())
  const begun = begunBefore + perSecond * (warmUpSec + seconds)
  await settled(installation, workers, { begun, withinMs: patienceMs })
  const runs = await workers.runs()
  return {
    lateness: latenessOf(runs, window),
    kept: await keptOf(installation, { jobIds, occurrences: warmUpSec + seconds, from, until: window.until }, runs),
    cpu,
    seconds,
  }
}

function resultsOf(name: string, targetMs: number, rounds: Steady[]): Result[] {
  return [
    resultOf(
      { name: `${name} p99`, unit: 'ms', target: targetMs, better: 'lower', detail: { 'worker processes': 2 } },
      rounds.map(({ lateness, kept, cpu, seconds }) => ({
        value: lateness.p99,
        cpu,
        count: lateness.count,
        detail: {
          fires: lateness.count,
          seconds,
          'p50 ms': lateness.p50,
          'p99.9 ms': lateness.p999,
          'longest ms': lateness.longest,
          'p99 by the ledger ms': kept.startedP99,
          'fired p99 ms': kept.firedP99,
          ...cpuShares(cpu, seconds * 1_000),
        },
      })),
    ),
    resultOf(
      { name: `${name} missing or doubled`, unit: 'runs', target: 0, better: 'lower' },
      // Of any round, not of the one in the middle.
      [{ value: sum(rounds.map(({ kept }) => kept.missing + kept.doubled)) }],
    ),
  ]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
