/**
 * One tenant has 50,000 one-shots due in the same second, at random milliseconds of it, while 99 others have steady work. Told
 * is how long after the beginning of that second the last of them was leased, and how late the others were meanwhile.
 *
 * The time of a lease is not kept when all goes well, so the start of the handler stands for it, which is never before it.
 * The 50,000 are created over the API among as many that are due on other days, a hundred of each in a request; each hundred
 * is spread over the second, so that those due together lie far apart.
 */
import type { Installation, Workers } from '../ground/ground.ts'
import { createBeats, createJobs, msToCreate, randomInt, range, workOf } from '../load/create-jobs.ts'
import { wallMs } from '../measure/clock.ts'
import { type Cpu, cpuBetween, cpuShares } from '../measure/cpu.ts'
import {
  keptOf,
  type Lateness,
  type LedgerLateness,
  latenessOf,
  ledgerOf,
  secondAhead,
  settled,
  untilWall,
} from '../measure/lateness.ts'
import { inRounds, resultOf } from '../measure/rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

/** In one request; as many of other days go with them. */
const hotAtOnce = 100
const hotTenant = 0
/** Jobs of the others, each once a second: 7 of each tenant. */
const steadyPerSec = 693
/** The steady work begins so long before the hot second, and goes on so long after it. */
const steadyBeforeSec = 8
const steadyAfterSec = 12
/** Of the steady work, not measured. */
const warmUpMs = 2_000
const dayMs = 86_400_000
const patienceMs = 60_000

export const scenario: Scenario = {
  name: 'hot-second',
  summary: '50,000 jobs of one tenant due in one second, among the steady work of 99 others',
  async run(bench) {
    await using installation = await bench.ground.installation()
    await using workers = await installation.startWorkers(2, { record: true })
    const what = { name: 'hot-second', unit: 's', valueOf: ({ allLeasedSec }: HotSecond) => allLeasedSec }
    const rounds = await inRounds(bench, what, () => hotSecond(bench, installation, workers))
    const detail = { jobs: bench.size(50_000, 50_000), 'worker processes': 2 }
    return [
      resultOf(
        { name: 'hot-second all leased', unit: 's', target: 4, better: 'lower', detail },
        rounds.map(({ allLeasedSec, hot, hotFiredP99, others, cpu }) => ({
          value: allLeasedSec,
          cpu,
          count: hot.count + others.count,
          detail: {
            'p50 lateness ms': hot.p50,
            'p99 lateness ms': hot.p99,
            'fired p99 ms': hotFiredP99,
            ...cpuShares(cpu, allLeasedSec * 1_000),
          },
        })),
      ),
      resultOf(
        { name: 'hot-second lateness of others p99', unit: 'ms', target: 250, better: 'lower' },
        rounds.map(({ others, othersInLedger, othersBefore }) => ({
          value: others.p99,
          detail: {
            fires: others.count,
            'p50 ms': others.p50,
            'longest ms': others.longest,
            'fired p99 ms': othersInLedger.firedP99,
            'p99 before ms': othersBefore.p99,
          },
        })),
      ),
      resultOf({ name: 'hot-second missing or doubled', unit: 'runs', target: 0, better: 'lower' }, [
        { value: rounds.reduce((total, { wrong }) => total + wrong, 0) },
      ]),
    ]
  },
}

interface HotSecond {
  allLeasedSec: number
  hot: Lateness
  hotFiredP99: number
  /** Due from the beginning of the second until the last of the 50,000 had begun; and in the seconds before. */
  others: Lateness
  othersInLedger: LedgerLateness
  othersBefore: Lateness
  /** Missing or doubled. */
  wrong: number
  cpu: Cpu
}

async function hotSecond(bench: Bench, installation: Installation, workers: Workers): Promise<HotSecond> {
  const begunBefore = workers.count()
  const hotCount = bench.size(50_000, 50_000)
  const steadyCount = bench.size(steadyPerSec, steadyPerSec)
  const createMs = await msToCreate(installation, 2 * hotCount + steadyCount, 2 * hotAtOnce)
  const second = secondAhead(createMs + steadyBeforeSec * 1_000)
  const began = performance.now()
  const hotIds = await createHot(installation, hotCount, second)
  bench.progress(`${hotIds.length} hot jobs among others created in ${secondsSince(began)} s`)
  const steady = { from: second - steadyBeforeSec * 1_000, seconds: steadyBeforeSec + steadyAfterSec }
  const tenants = range(installation.tenants.length).filter((tenant) => tenant !== hotTenant)
  const steadyIds = await createBeats(installation, { jobs: steadyCount, ...steady, tenants })
  if (wallMs() > steady.from)
    throw new Error(`creating the jobs took ${secondsSince(began)} s, longer than there was time`)

  await untilWall(second)
  bench.progress(`the second begins; ${workers.count() - begunBefore} runs of steady work before it`)
  const before = await bench.ground.cpu()
  await workers.reached(begunBefore + steadyCount * steadyBeforeSec + hotCount, patienceMs)
  const cpu = cpuBetween(before, await bench.ground.cpu())
  const all = hotCount + steadyCount * steady.seconds
  await settled(installation, workers, { begun: begunBefore + all, withinMs: patienceMs })

  const isHot = new Set(hotIds)
  const runs = await workers.runs()
  const hotRuns = runs.filter(({ executionId }) => isHot.has(executionId))
  const otherRuns = runs.filter(({ executionId }) => !isHot.has(executionId))
  const allLeasedAt = hotRuns.reduce((latest, { startedAt }) => Math.max(latest, startedAt), 0)
  const hotWindow = { from: second, until: second + 1_000 }
  const busyWindow = { from: second, until: Math.max(allLeasedAt, hotWindow.until) }
  const steadyWindow = { from: steady.from, until: steady.from + steady.seconds * 1_000 }
  const kept = [
    await keptOf(installation, { jobIds: hotIds, occurrences: 1, ...hotWindow }, hotRuns),
    await keptOf(installation, { jobIds: steadyIds, occurrences: steady.seconds, ...steadyWindow }, otherRuns),
  ]
  return {
    allLeasedSec: (allLeasedAt - second) / 1_000,
    hot: latenessOf(hotRuns, hotWindow),
    hotFiredP99: kept[0]!.firedP99,
    others: latenessOf(otherRuns, busyWindow),
    othersInLedger: await ledgerOf(installation, steadyIds, busyWindow),
    othersBefore: latenessOf(otherRuns, { from: steady.from + warmUpMs, until: second }),
    wrong: kept.reduce((total, { missing, doubled }) => total + missing + doubled, 0),
    cpu,
  }
}

/** Answers the ids, which are those of the executions too. */
async function createHot(installation: Installation, count: number, second: number): Promise<string[]> {
  const oneShot = (n: number, at: number) => workOf(n, { type: 'ONE_SHOT', runAt: new Date(at).toISOString() })
  const batches = range(Math.ceil(count / hotAtOnce)).map((batch) => ({
    tenant: hotTenant,
    jobs: range(Math.min(hotAtOnce, count - batch * hotAtOnce)).flatMap((n) => [
      oneShot(batch * hotAtOnce + n, second + randomInt(1_000)),
      oneShot(batch * hotAtOnce + n, second + dayMs + randomInt(20 * dayMs)),
    ]),
  }))
  return (await createJobs(installation, batches)).flat().filter((_, n) => n % 2 === 0)
}

function secondsSince(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1)
}
