/**
 * What runs of graphs cost beside plain executions, in turns: the same handlers, payloads, workers and number of executions, submitted
 * over HTTP. `cost`: from the first request to the last end, one run of 1,000 steps after the other, CPU of node and PostgreSQL.
 * `drain`: many runs at once, started while the pool is paused.
 *
 * Beside another checkout (the commit before graphs), instead of these: what plain executions cost in both, by the load of `life`.
 */
import type { Installation, Workers } from '../ground/ground.ts'
import type { BatchesAnswer, BatchesOptions } from '../load/batches.ts'
import type { Lattice, RunsAnswer, RunsOptions } from '../load/runs.ts'
import { concurrency } from '../load/steady-life.ts'
import { monotonicMs } from '../measure/clock.ts'
import { cpuBetween } from '../measure/cpu.ts'
import { cpuOf, lifeBeside } from '../measure/cpu-of-life.ts'
import { inTurns, type Round, resultOf, spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Result, type Scenario } from '../scenario.ts'
import { drain } from './drain.ts'

/** A graph may have 20,000 dependencies: complete between layers it can only be deep. */
const lattices: Record<string, Lattice> = {
  'deep run': { layers: 100, width: 10, degree: 10 },
  'wide run': { layers: 10, width: 100, degree: 20 },
}
const stepsOfARun = 1_000
const small: Lattice = { layers: 5, width: 10, degree: 10 }
const costTarget = 2
const drainTarget = 5_000
const besideTarget = 1.02
const tellEveryMs = 20
const longestMs = 300_000

export const scenario: Scenario = {
  name: 'dag',
  summary: 'runs of graphs beside plain executions: CPU of a step, steps drained',
  limitMinutes: 60,
  quickLimitMinutes: 5,
  parts: ['cost', 'drain'],
  async run(bench) {
    // An execution that is no step must not pay for graphs.
    if (bench.beside !== null) return lifeBeside(bench, bench.beside, { name: 'dag life', target: besideTarget })
    await using installation = await bench.ground.installation()
    const workers = await installation.startWorkers(2, { concurrency })
    const results: Result[] = []
    if (bench.part !== 'drain') results.push(...(await costs(bench, installation, workers)))
    if (bench.part !== 'cost') results.push(...(await drains(bench, installation, workers)))
    return results
  },
}

async function costs(bench: Bench, installation: Installation, workers: Workers): Promise<Result[]> {
  const runs = bench.size(10, 2)
  const count = runs * stepsOfARun
  const plain = { name: 'dag plain executions', turn: () => submitPlain(bench, installation, workers, { count }) }
  const shapes = Object.entries(lattices).map(([name, lattice]) => ({
    ...{ name: `dag ${name}`, lattice },
    turn: () => inOneGo(bench, installation, workers, { runs, lattice, mostOpen: 0 }),
  }))
  // As many at a time as a layer has steps: what a run could cost at least, whatever it is made of.
  const waves = Object.entries(lattices).map(([name, { width }]) => ({
    ...{ name: `dag plain executions in waves of ${width}, as in a ${name}`, width },
    turn: () => submitPlain(bench, installation, workers, { count: stepsOfARun, wave: width }),
  }))
  const turns = [plain, ...waves, ...shapes]
  await plain.turn() // so that code and plans are warm
  const measured = await inTurns(bench, turns, { unit: 'µs', valueOf: cpuOf }, ({ turn }) => turn())
  const resultFor = (turn: { name: string }, detail: Record<string, number | string>) =>
    resultOf(
      { name: `${turn.name} node + PostgreSQL CPU`, unit: 'µs', target: null, better: 'lower', detail },
      measured.get(turn as (typeof turns)[number])!.map((round) => ({ ...round, value: cpuOf(round) })),
    )
  const median = (turn: (typeof turns)[number]) => spreadOf(measured.get(turn)!.map(cpuOf)).median
  return [
    resultFor(plain, { executions: count }),
    ...waves.map((turn) => resultFor(turn, { executions: stepsOfARun })),
    ...shapes.flatMap((shape) => {
      const { layers, width, degree } = shape.lattice
      const detail = { runs, steps: `${layers} layers of ${width}, each after ${degree}` }
      const value = tidy(median(shape) / median(plain))
      const name = `${shape.name} step / plain execution`
      return [resultFor(shape, detail), judged({ name, value, unit: 'x', target: costTarget, better: 'lower' })]
    }),
  ]
}

async function drains(bench: Bench, installation: Installation, workers: Workers): Promise<Result[]> {
  const runs = bench.size(200, 40)
  const count = runs * small.layers * small.width
  const turns = [
    { name: 'dag plain drain', turn: () => drain(bench, installation, workers, count) },
    { name: 'dag drain', turn: () => drainRuns(bench, installation, workers, runs) },
  ]
  const rateOf = ({ value }: Round) => value
  const measured = await inTurns(bench, turns, { unit: '/s', valueOf: rateOf }, ({ turn }) => turn())
  const [plain, dag] = turns.map((turn) => measured.get(turn)!) as [Round[], Round[]]
  const half = spreadOf(plain.map(rateOf)).median / 2
  const detail = { runs, steps: `${small.layers} layers of ${small.width}, complete` }
  const what = { unit: '/s', better: 'higher' } as const
  return [
    resultOf({ ...what, name: 'dag plain drain', target: null, detail: { executions: count } }, plain),
    resultOf({ ...what, name: 'dag drain', target: Math.round(Math.min(drainTarget, half)), detail }, dag),
  ]
}

/** With `wave`, so many at a time, and the next ones when all of these have ended. */
async function submitPlain(
  bench: Bench,
  installation: Installation,
  workers: Workers,
  { count, wave }: { count: number; wave?: number },
): Promise<Round> {
  const { urls, tokens } = installation
  const load: BatchesOptions = { urls, tokens, batch: 500, inFlight: 1, count }
  if (wave !== undefined) Object.assign(load, { batch: wave, mostAhead: 1 })
  return measuredLife(bench, installation, { workers, count }, async () => {
    const generator = await bench.ground.generate<BatchesAnswer>(new URL('../load/batches.ts', import.meta.url), load)
    return { go: () => generator.go(), tell: (done) => generator.tell(done), answer: generator.answer }
  })
}

async function inOneGo(
  bench: Bench,
  installation: Installation,
  workers: Workers,
  { runs, lattice, mostOpen }: { runs: number; lattice: Lattice; mostOpen: number },
): Promise<Round> {
  const count = runs * lattice.layers * lattice.width
  return measuredLife(bench, installation, { workers, count }, () =>
    startRuns(bench, installation, { ...lattice, runs, inFlight: 1, mostOpen }),
  )
}

interface StartedLoad {
  go(): void
  tell(done: number): void
  answer: Promise<unknown>
}

/** From the first request until everything has ended. */
async function measuredLife(
  bench: Bench,
  installation: Installation,
  { workers, count }: { workers: Workers; count: number },
  start: () => Promise<StartedLoad>,
): Promise<Round> {
  const since = await installation.now()
  const begun = workers.count()
  const load = await start()
  const before = await bench.ground.cpu()
  const startedAt = monotonicMs()
  load.go()
  const telling = setInterval(() => load.tell(workers.count() - begun), tellEveryMs)
  try {
    await load.answer
    const endedAt = await workers.finished(begun + count, longestMs)
    await runsEnded(installation)
    const cpu = cpuBetween(before, await bench.ground.cpu())
    await judgeLedger(installation, since, count)
    return {
      value: (count * 1_000) / (endedAt - startedAt),
      cpu,
      count,
      detail: { 'ended /s': (count * 1_000) / (endedAt - startedAt) },
    }
  } finally {
    clearInterval(telling)
  }
}

/** Starts runs with the pool paused, and has them drained. */
async function drainRuns(bench: Bench, installation: Installation, workers: Workers, runs: number): Promise<Round> {
  const count = runs * small.layers * small.width
  await installation.request('POST /v1/pools/default/pause')
  const since = await installation.now()
  const load = await startRuns(bench, installation, { ...small, runs, inFlight: 4 })
  load.go()
  await load.answer
  const begun = workers.count()
  const before = await bench.ground.cpu()
  const startedAt = monotonicMs()
  await installation.request('POST /v1/pools/default/resume')
  const endedAt = await workers.finished(begun + count, longestMs)
  await runsEnded(installation)
  const cpu = cpuBetween(before, await bench.ground.cpu())
  await judgeLedger(installation, since, count)
  return { value: (count * 1_000) / (endedAt - startedAt), cpu, count }
}

async function startRuns(
  bench: Bench,
  { urls, tokens }: Installation,
  asked: Omit<RunsOptions, 'urls' | 'tokens'>,
): Promise<StartedLoad> {
  const options: RunsOptions = { urls, tokens, ...asked }
  const generator = await bench.ground.generate<RunsAnswer>(new URL('../load/runs.ts', import.meta.url), options)
  await generator.ready
  return { go: () => generator.go(), tell: (done) => generator.tell(done), answer: generator.answer }
}

/** The last count-down of each run is done by the leader a moment after its last step. */
async function runsEnded(installation: Installation): Promise<void> {
  for (;;) {
    const [row] = await installation.query<{ n: number }>('select count(*)::int n from carillon.blocked')
    if (row!.n === 0) return
    await new Promise((resolve) => setTimeout(resolve, tellEveryMs))
  }
}

async function judgeLedger(installation: Installation, since: number, count: number): Promise<void> {
  const { total, succeeded, extraAttempts } = await installation.ledger(since)
  if (total === count && succeeded === count && extraAttempts === 0) return
  throw new Error(`the ledger has ${succeeded} of ${total} done, ${extraAttempts} tried again; expected ${count}`)
}
