/**
 * What an execution costs PostgreSQL while 2,000 workers send heartbeats and 5,000 status reads come in each second, at two rates of
 * executions. Everything over HTTP: heartbeats and long polls as the SDK sends them, from two processes (fleet/), reads and submissions
 * from a third (load/paced.ts), and one worker of the SDK that leases, runs and reports. Reads go to executions of
 * the last five seconds. All that PostgreSQL used in the measured time is divided by the executions that ended in it.
 */
import { Fleet } from '../fleet/fleet.ts'
import type { Installation, Workers } from '../ground/ground.ts'
import type { PacedOptions, PacedWord } from '../load/paced.ts'
import { concurrency, startLife } from '../load/steady-life.ts'
import { cpuShares } from '../measure/cpu.ts'
import { inTurns, type Round, resultOf, spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Result } from '../scenario.ts'
import { allSides, countsDetail, countsOf, openSide, type Side, untilUsed, withNodes } from './sides.ts'

/** PostgreSQL's CPU of an execution, as a part of what it is with PostgreSQL alone. */
const target = 0.7
/** What must have ended and been read, of what was to be: of less, the figure is another one. */
const reachedTarget = 0.95
const rates = [200, 950]
const readsPerSec = 5_000
const recentSec = 5
const load = new URL('../load/paced.ts', import.meta.url)
const nothingRead: PacedWord = { reads: 0, missed: 0 }

interface Turn extends Side {
  installation: Installation
}

export async function measureCost(bench: Bench): Promise<Result[]> {
  await using opened = new AsyncDisposableStack()
  const turns: Turn[] = []
  for (const side of await allSides(bench))
    turns.push({ ...side, installation: opened.use(await openSide(bench, side)) })
  const what = { unit: `µs at ${rates[0]}/s`, valueOf: (rounds: Round[]) => rounds[0]!.value }
  const measured = await inTurns(bench, turns, what, (turn) => takeTurn(bench, turn))
  return rates.flatMap((rate, i) => {
    const figures = turns.map(({ name }, n) => ({ name, rounds: measured.get(turns[n]!)!.map((round) => round[i]!) }))
    return resultsOf(rate, figures)
  })
}

/** Of each rate, one after the other. */
async function takeTurn(bench: Bench, { installation, settings }: Turn): Promise<Round[]> {
  return withNodes(installation, { count: 1 }, async () => {
    await using workers = await installation.startWorkers(1, { concurrency })
    await untilUsed(installation, workers, settings)
    await using fleet = await Fleet.open(bench.ground, {
      ...{ url: installation.urls[0]!, token: installation.workerToken, handler: 'keep-going' },
      ...{ pool: 'fleet', running: 0, idlePool: 'fleet-idle' },
    })
    await fleet.resize(bench.size(2_000, 200))
    const rounds: Round[] = []
    for (const rate of rates) rounds.push(await measureRate(bench, installation, { workers, fleet, rate }))
    await fleet.resize(0)
    await workers.stop()
    return rounds
  })
}

async function measureRate(
  bench: Bench,
  installation: Installation,
  { workers, fleet, rate }: { workers: Workers; fleet: Fleet; rate: number },
): Promise<Round> {
  const { urls, tokens } = installation
  const reads = bench.size(readsPerSec, 500)
  const options: PacedOptions = { url: urls[0]!, tokens, executionsPerSec: rate, readsPerSec: reads, recentSec }
  await using life = await startLife(bench, installation, workers, () => bench.ground.generate(load, options))
  await life.goOn(bench.size(6, 1))
  const counted = async () => ({ ...nothingRead, ...(life.said() as PacedWord), ...(await fleet.counts()) })
  const before = await counted()
  const stretch = await life.goOn(bench.size(20, 2))
  const after = await counted()
  const counts = await countsOf(installation)
  await life.end()
  const { finished, submitted, p50Ms, p99Ms } = await life.lifeIn(stretch)
  const elapsedMs = stretch.until - stretch.from
  const perSecond = (count: number) => (count * 1_000) / elapsedMs
  const { cpu } = stretch
  bench.progress(
    `${rate}/s: ${tidy(perSecond(finished))} ended, ${tidy(perSecond(after.reads - before.reads))} reads/s`,
  )
  return {
    // Of none, no figure; and no target is reached with it.
    ...{ value: finished > 0 ? (cpu.postgres * 1_000) / finished : Number.NaN, cpu, count: finished },
    detail: {
      'submitted /s': perSecond(submitted),
      'ended /s': perSecond(finished),
      'reads /s': perSecond(after.reads - before.reads),
      reached: Math.min(finished / rate, (after.reads - before.reads) / reads) / (elapsedMs / 1_000),
      'reads left out': after.missed - before.missed,
      workers: after.workers,
      'heartbeats /s': perSecond(after.reports - before.reports),
      'from submission to end p50 ms': p50Ms,
      'from submission to end p99 ms': p99Ms,
      ...countsDetail(counts),
      ...cpuShares(cpu, elapsedMs),
    },
  }
}

interface Figures {
  name: string
  rounds: Round[]
}

/** The first of them is PostgreSQL alone. Judged is the second: all four. */
function resultsOf(rate: number, figures: readonly Figures[]): Result[] {
  const medianOf = ({ rounds }: Figures, figure: (round: Round) => number) => spreadOf(rounds.map(figure)).median
  const postgres = (side: Figures) => medianOf(side, ({ value }) => value)
  const [alone, ...others] = figures as [Figures, ...Figures[]]
  const cpu = `scale-out PostgreSQL CPU at ${rate}/s`
  return [
    ...others.map((side, n) =>
      judged({
        name: `${cpu}, ${side.name} / ${alone.name}`,
        value: tidy(postgres(side) / postgres(alone)),
        ...{ unit: 'x', target: n === 0 ? target : null, better: 'lower' },
      }),
    ),
    judged({
      name: `scale-out load reached at ${rate}/s`,
      value: tidy(Math.min(...figures.map((side) => medianOf(side, ({ detail }) => Number(detail!.reached))))),
      ...{ unit: 'x', target: reachedTarget, better: 'higher' },
    }),
    ...figures.map((side) =>
      resultOf({ name: `${cpu}, ${side.name}`, unit: 'µs', target: null, better: 'lower' }, side.rounds),
    ),
  ]
}
