/**
 * Chaos on real processes, an outage of the database, and a storm of terminated connections.
 *
 *   npm run chaos -- --seconds 300 --seed 7 [--json]
 *   npm run chaos -- --profile scale-out --seconds 300     nodes with etcd, Redis and Kafka, which are disturbed too
 *   npm run chaos -- --seconds 60 --seeds 50 --burn 2      several seeds, one after the other, while two processes burn the CPU
 *   npm run chaos -- --outage 40 [--json]
 *   npm run chaos -- --terminate-storm --seconds 60 [--json]
 *
 * `--postgres debian15` runs on PostgreSQL 15 as Debian packages it, with the settings it ships with, instead of the
 * server that Carillon brings; `--postgres <folder>` on the programs in that folder.
 *
 * Exits with 1 if anything was violated, or if a run of 300 s or more did less than it is there for. A failing run leaves its
 * records and logs in `chaos-records/seed-<seed>`, or under the directory given with --records.
 */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { debian15 } from '../../test/support/stock-postgres.ts'
import { Burners } from './burners.ts'
import { type ChaosResult, chaos } from './chaos.ts'
import { faultKinds } from './faults.ts'
import { evidence } from './judgement.ts'
import { outage } from './outage.ts'
import { ScaleOut } from './scale-out.ts'
import { serverFaultKinds } from './server-faults.ts'
import { hasFailed, type Summary, summaryTable } from './summary.ts'
import { terminateStorm } from './terminate-storm.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    burn: { type: 'string', default: '0' },
    records: { type: 'string', default: 'chaos-records' },
    profile: { type: 'string', default: 'postgres' },
    outage: { type: 'string' },
    'terminate-storm': { type: 'boolean', default: false },
    postgres: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})

/** A whole run is one of this length, with so much in it. */
const wholeSeconds = 300
const fewestOfAKind = 3
const fewestExecutions = 10_000
/** Of the violations of one checker, with what is known of them. */
const shown = 3

const log = values.json ? console.error : console.log
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    log('interrupted; everything is taken down')
    interrupt.abort(new Error('interrupted'))
  })
}

const first = whole('seed', values.seed ?? `${Math.floor(Math.random() * 1e9)}`, 0)
const seeds = whole('seeds', values.seeds, 1)
const burn = whole('burn', values.burn, 0)
const postgres = values.postgres === 'debian15' ? debian15 : values.postgres
if (!['postgres', 'scale-out'].includes(values.profile)) {
  console.error(`--profile ${values.profile} is neither postgres nor scale-out`)
  process.exit(2)
}
const isScaleOut = values.profile === 'scale-out'
const kinds = isScaleOut ? [...faultKinds, ...serverFaultKinds] : faultKinds
const summaries: Summary[] = []
{
  await using _burners = new Burners(burn)
  if (burn > 0) log(`${burn} processes burn the CPU`)
  for (let seed = first; seed < first + seeds && !interrupt.signal.aborted; seed++) {
    const summary = await runSeed(seed)
    if (summary !== null) summaries.push(summary)
  }
}
if (seeds > 1) for (const line of summaryTable(summaries)) log(line)
if (interrupt.signal.aborted) process.exitCode = 130
else if (summaries.some(hasFailed)) process.exitCode = 1

/** Null: it was interrupted. */
async function runSeed(seed: number): Promise<Summary | null> {
  try {
    return tell(seed, await run(seed))
  } catch (error) {
    if (interrupt.signal.aborted) return null
    log(`seed ${seed} did not come to its end: ${error instanceof Error ? error.stack : error}`)
    return { seed, error: String(error) }
  }
}

function run(seed: number): Promise<ChaosResult> {
  if (values['terminate-storm']) return wholeStorm(seed)
  return values.outage === undefined ? wholeChaos(seed) : wholeOutage(seed, whole('outage', values.outage, 1))
}

/**
 * What is promised in time is promised for a machine with CPU to spare. While burners take their share of it, times stretch by
 * as much; that nothing is lost or doubled is judged as always.
 */
function stretched<T extends Record<string, number>>(times: T): T {
  const factor = 1 + burn / availableParallelism()
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, Math.ceil(ms * factor)])) as T
}

function recordsOf(seed: number) {
  const storm = values['terminate-storm'] ? '--terminate-storm ' : ''
  const profile = isScaleOut ? '--profile scale-out ' : ''
  const what =
    values.outage === undefined ? `${profile}${storm}--seconds ${values.seconds}` : `--outage ${values.outage}`
  const on = values.postgres === undefined ? '' : ` --postgres ${values.postgres}`
  const burning = `${on}${burn > 0 ? ` --burn ${burn}` : ''}`
  return { folder: resolve(values.records), again: `npm run chaos -- ${what} --seed ${seed}${burning}` }
}

function wholeStorm(seed: number): Promise<ChaosResult> {
  return terminateStorm({
    ...{ seconds: whole('seconds', values.seconds, 5), seed, log, signal: interrupt.signal, postgres },
    ...{ nodes: 3, workers: 4, slots: 50, jobs: 100, everyMs: 1_000, afterMs: 20_000, records: recordsOf(seed) },
    // As it is shipped.
    engine: {},
    recoveryMs: 20_000,
    bounds: { fireMs: 2_000, startMs: 5_000, lostMs: 60_000 },
  })
}

async function wholeChaos(seed: number): Promise<ChaosResult> {
  const seconds = whole('seconds', values.seconds, 30)
  const nodes = 3
  // By the seed, with and without.
  const fallback = seed % 2 === 1
  await using scaleOut = isScaleOut ? await ScaleOut.open({ nodes, fallback }) : undefined
  if (scaleOut) log(`while etcd is away, ${fallback ? 'PostgreSQL elects' : 'nothing is fired'}`)
  // Rounds with more kinds in them are longer, and have a quiet time in which everything must be on time again.
  const times = isScaleOut ? { roundSec: 100, quietMs: Math.min(20_000, seconds * 60) } : { roundSec: 75, quietMs: 0 }
  return await chaos({
    ...{ seconds, seed, log, signal: interrupt.signal, postgres, scaleOut, records: recordsOf(seed) },
    ...{ nodes, workers: 4, slots: 50, jobs: 250, kinds, quietMs: times.quietMs },
    rounds: Math.max(1, Math.floor(seconds / times.roundSec)),
    calmMs: Math.min(25_000, seconds * 300),
    // Quick to notice, so that a fault is over in seconds; a worker is lost after 4.
    engine: { leaseMs: 2_000, heartbeatEveryMs: 1_000, workerLostMs: 4_000, pollMs: 500 },
    ...stretched({ recoveryMs: 12_000 }),
    bounds: stretched({ fireMs: 2_000, startMs: 5_000, lostMs: 60_000 }),
  })
}

function wholeOutage(seed: number, seconds: number): Promise<ChaosResult> {
  return outage({
    ...{ seconds, seed, log, signal: interrupt.signal, postgres, records: recordsOf(seed) },
    ...{ nodes: 3, workers: 4, slots: 50, jobs: 100, long: 10 },
    ...{ beforeMs: 10_000, afterMs: 40_000 },
    // As it is shipped: a worker is lost after 30 s.
    engine: {},
    ...stretched({ recoveryMs: 20_000 }),
    bounds: stretched({ fireMs: 2_000, startMs: 5_000, lostMs: 60_000 }),
  })
}

function tell(seed: number, { history, violations, ...figures }: ChaosResult): Summary {
  const { lost, doubled, fired, longestGapMs, records } = figures
  const shortfalls = shortfallsOf(figures)
  for (const [checker, own] of Map.groupBy(violations, (violation) => violation.checker)) {
    for (const { subject, problem } of own.slice(0, shown)) {
      log(`VIOLATED ${checker}: ${subject} ${problem}`)
      for (const line of evidence(history, subject)) log(`    ${line}`)
    }
    log(`VIOLATED ${checker} ${own.length} times`)
  }
  for (const [kind, times] of Object.entries(figures.faults).sort()) log(`${`${times}`.padStart(4)}  ${kind}`)
  log(`${(figures.healthyMs / 1_000).toFixed(1)} s of it healthy: lateness counted then`)
  for (const shortfall of shortfalls) log(`TOO LITTLE ${shortfall}`)
  log(`seed ${seed}: ${violations.length} violations, ${lost} lost, ${doubled} doubled, ${fired} executions`)
  log(JSON.stringify(figures))
  if (values.json) {
    console.log(JSON.stringify({ ...figures, violations, seed, shortfalls }))
  }
  return { seed, violations, shortfalls, lost, doubled, fired, longestGapMs, records }
}

function shortfallsOf({ faults, fired }: Pick<ChaosResult, 'faults' | 'fired'>): string[] {
  if (values.outage !== undefined || values['terminate-storm'] || Number(values.seconds) < wholeSeconds) return []
  const rare = kinds.filter((kind) => (faults[kind] ?? 0) < fewestOfAKind)
  const few = fired < fewestExecutions ? [`${fired} executions, not ${fewestExecutions}`] : []
  return [...rare.map((kind) => `${kind}: ${faults[kind] ?? 0} times, not ${fewestOfAKind}`), ...few]
}

function whole(name: string, text: string, least: number): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= least) return number
  console.error(`--${name} ${text} is not a whole number of at least ${least}`)
  process.exit(2)
}
