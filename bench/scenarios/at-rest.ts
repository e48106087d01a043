/**
 * What many jobs at rest cost those that fire: 2,000 fires a second by jobs that lie scattered over a table of 100 thousand
 * and over one of 10 million, across a checkpoint, after which every page that is changed goes into the log whole. Told
 * are the lateness at both sizes and how much more of PostgreSQL's CPU a fire takes at the larger one.
 *
 * The rows are laid by SQL (load/jobs-at-rest.ts), with no node running; the cache is as large as it is shipped, and holds
 * whatever work leaves in it. Rounds follow each other without a pause, each with a checkpoint in its middle.
 */
import { statfs } from 'node:fs/promises'
import type { Installation, Workers } from '../ground/ground.ts'
import { findBeats, layJobs, sizeAtRest, startBeats } from '../load/jobs-at-rest.ts'
import { type BeatLedger, ledgerOf } from '../measure/beat-ledger.ts'
import { wallMs } from '../measure/clock.ts'
import { type Cpu, cpuBetween, cpuShares } from '../measure/cpu.ts'
import { type Lateness, latenessOf, secondAhead, untilWall } from '../measure/lateness.ts'
import { inRounds, resultOf, spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Result, type Scenario } from '../scenario.ts'

const targetMs = 50
const targetRatio = 1.5
/** What a job at rest takes on disk while it is laid: rows, indexes, and the log of both. */
const bytesPerJob = 1_200
/** The beats are set going beyond what a node has read ahead. */
const readAheadMs = 5_000
/** Until they begin. To find them among ten million jobs, which no cache holds, takes its time. */
const startMs = 40_000
const startMsQuick = 8_000
/** Nothing is looked for that was fired later than that after it was due. */
const latestMs = 600_000

export const scenario: Scenario = {
  name: 'at-rest',
  summary: '2,000 fires a second among 100 thousand and among 10 million jobs at rest, across a checkpoint',
  limitMinutes: 30,
  async run(bench) {
    const sizes = [bench.size(100_000, 100_000), bench.size(10_000_000, 1_000_000)]
    const measured: AtRest[] = []
    for (const jobs of sizes) measured.push(await atRest(bench, jobs))
    const [few, many] = measured as [AtRest, AtRest]
    return [
      ...measured.map(latenessResult),
      ratioResult(few, many),
      judged({
        name: 'at-rest missing or doubled',
        value: sum(measured.flatMap(({ rounds }) => rounds.map(amiss))),
        unit: 'occurrences',
        target: 0,
        better: 'lower',
      }),
      judged({
        name: `at-rest ${sizeName(many.jobs)} laid`,
        value: tidy(many.layingSec),
        unit: 's',
        target: null,
        better: 'lower',
        detail: { 'MB of jobs and schedules': tidy(many.bytes / 1e6) },
      }),
    ]
  },
}

interface AtRest {
  jobs: number
  layingSec: number
  bytes: number
  rounds: Window[]
}

interface Window {
  lateness: Lateness
  ledger: BeatLedger
  seconds: number
  cpu: Cpu
  /** What was fired in that time: on a machine that keeps up, what was due in it. */
  fired: number
  /** Of PostgreSQL, a fire. */
  cpuUs: number
}

async function atRest(bench: Bench, jobs: number): Promise<AtRest> {
  const name = `at-rest ${sizeName(jobs)}`
  await requireRoom(bench, jobs)
  await using installation = await bench.ground.installation({ nodes: 0 })
  const beats = Math.min(bench.size(2_000, 2_000), jobs)
  const layingSec = await timed(() =>
    layJobs(installation.databaseUrl, { jobs, beats, tenants: installation.tenants }, (text) =>
      bench.progress(`${name}: ${text}`),
    ),
  )
  const bytes = await sizeAtRest(installation)
  bench.progress(`${name}: laid in ${layingSec.toFixed(1)} s, ${(bytes / 1e6).toFixed(0)} MB`)
  const jobIds = await findBeats(installation)
  await installation.startNode()
  await using workers = await installation.startWorkers(2, { record: true })
  const from = secondAhead(bench.size(startMs, startMsQuick))
  await startBeats(installation, jobIds, from)
  if (wallMs() > from - readAheadMs) throw new Error('setting the beats going took too long')
  const seconds = bench.size(60, 10)
  let next = from + bench.size(10, 2) * 1_000
  const what = { name, unit: 'ms (p99)', valueOf: ({ lateness }: Window) => lateness.p99 }
  const rounds = await inRounds(bench, what, async () => {
    const window = { jobs: beats, from: Math.max(next, secondAhead(0)), until: 0 }
    window.until = window.from + seconds * 1_000
    next = window.until
    return measure(bench, installation, workers, window)
  })
  return { jobs, layingSec, bytes, rounds }
}

async function measure(
  bench: Bench,
  installation: Installation,
  workers: Workers,
  window: { jobs: number; from: number; until: number },
): Promise<Window> {
  const { from, until } = window
  // What was recorded before is of no interest.
  await workers.runs()
  await untilWall(from)
  const before = await bench.ground.cpu()
  await untilWall((from + until) / 2)
  bench.progress('half of the time is over: CHECKPOINT')
  const checkpointSec = timed(() => installation.query('checkpoint'))
  await untilWall(until)
  const cpu = cpuBetween(before, await bench.ground.cpu())
  const ledger = await ledgerOf(installation, window)
  bench.progress(`${ledger.fires} fires in the ledger; the checkpoint took ${(await checkpointSec).toFixed(1)} s`)
  const lateness = latenessOf(await workers.runs(), window)
  const fired = await firedIn(installation, from, until)
  return { lateness, ledger, seconds: (until - from) / 1_000, cpu, fired, cpuUs: (cpu.postgres * 1_000) / fired }
}

/** Whenever it was due: CPU of a time is held against the fires of that time. */
async function firedIn(installation: Installation, from: number, until: number): Promise<number> {
  const [row] = await installation.query<{ fired: number }>(
    `select count(*)::int fired from carillon.executions
     where execution_id >= carillon.first_id($1::bigint - $3::bigint) and execution_id < carillon.first_id($2::bigint)
       and fired_at >= carillon.at($1::bigint) and fired_at < carillon.at($2::bigint)`,
    [from, until, latestMs],
  )
  return row!.fired
}

/** Occurrences that the ledger lacks or has twice, and those that it has but that did not run once. */
function amiss({ ledger, lateness }: Window): number {
  return ledger.missing + ledger.doubled + Math.abs(lateness.count - ledger.fires)
}

function latenessResult({ jobs, rounds }: AtRest): Result {
  return resultOf(
    { name: `at-rest ${sizeName(jobs)} lateness p99`, unit: 'ms', target: targetMs, better: 'lower' },
    rounds.map(({ lateness, ledger, cpu, fired, seconds }) => ({
      value: lateness.p99,
      cpu,
      count: fired,
      detail: {
        runs: lateness.count,
        'fires in the ledger': ledger.fires,
        'fired meanwhile': fired,
        seconds,
        'p50 ms': lateness.p50,
        'p99.9 ms': lateness.p999,
        'longest ms': lateness.longest,
        'fired late by at most ms': ledger.maxGapMs,
        ...cpuShares(cpu, seconds * 1_000),
      },
    })),
  )
}

function ratioResult(few: AtRest, many: AtRest): Result {
  const [small, large] = [few, many].map(({ rounds }) => spreadOf(rounds.map(({ cpuUs }) => cpuUs)).median) as [
    number,
    number,
  ]
  return judged({
    name: `at-rest PostgreSQL CPU a fire, ${sizeName(many.jobs)} / ${sizeName(few.jobs)}`,
    value: tidy(large / small),
    unit: 'x',
    target: targetRatio,
    better: 'lower',
    detail: { [`µs at ${sizeName(few.jobs)}`]: tidy(small), [`µs at ${sizeName(many.jobs)}`]: tidy(large) },
  })
}

async function requireRoom({ ground }: Bench, jobs: number): Promise<void> {
  const { bavail, bsize } = await statfs(ground.folder)
  const [free, needed] = [bavail * bsize, jobs * bytesPerJob]
  if (free < needed) {
    const gb = (bytes: number) => (bytes / 1e9).toFixed(1)
    throw new Error(`${jobs} jobs need ${gb(needed)} GB in ${ground.folder}, where ${gb(free)} GB are free`)
  }
}

function sizeName(jobs: number): string {
  return jobs >= 1_000_000 ? `${jobs / 1_000_000} M` : `${jobs / 1_000} k`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1_000
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
