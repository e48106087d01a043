/**
 * What many workers cost the work of others: a drain (as in `drain`, by two worker processes of the SDK) while 10 other
 * workers are connected, and while 2,000 are. Each of those is registered, has a long poll open, runs five executions for
 * as long as it is there and reports every five seconds what it holds and how far each has come; they serve a pool of
 * their own and run nothing (fleet/fleet-worker.ts).
 *
 * What is compared: executions drained a second, 2,000 / 10. The processes that play the fleet run on the same processors
 * and what they use is held against Carillon: the ratio is not corrected for it. It is told beside it, with the ratio that
 * would remain if the drain had had that time too. Rounds go few, many, many, few, few, many.
 */

import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fleet } from '../fleet/fleet.ts'
import type { Installation } from '../ground/ground.ts'
import { createJobs, range } from '../load/create-jobs.ts'
import { cpuShares } from '../measure/cpu.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Result, Scenario } from '../scenario.ts'
import { concurrency, drain } from './drain.ts'

const target = 0.8
const few = 10
const runningEach = 5
const heartbeatMs = 5_000
const pool = 'fleet'
const idlePool = 'fleet-idle'
const handler = 'keep-going'

export const scenario: Scenario = {
  name: 'fleet',
  summary: 'drain with 2,000 workers connected and 10,000 executions running, beside that with 10 workers',
  async run(bench) {
    const many = bench.size(2_000, 500)
    const count = bench.size(200_000, 30_000)
    await using installation = await bench.ground.installation()
    await installation.request('POST /v1/pools', { name: pool })
    const workers = await installation.startWorkers(2, { concurrency })
    const options = {
      url: installation.urls[0]!,
      token: installation.workerToken,
      pool,
      idlePool,
      handler,
      running: runningEach,
    }
    await using fleet = await Fleet.open(bench.ground, options)
    const since = await installation.now()
    let [size, submitted] = [0, 0]

    const resize = async (wanted: number) => {
      if (wanted === size) return
      const more = Math.max(0, wanted - size) * runningEach
      await submitLong(installation, more)
      submitted += more
      await fleet.resize(wanted)
      size = wanted
      await requireRunning(installation, size * runningEach)
      // Until each of them has reported once.
      if (more > 0) await sleep(heartbeatMs)
      bench.progress(`${size} workers connected, ${size * runningEach} executions running`)
    }
    const drainWith = async (wanted: number): Promise<FleetDrain> => {
      await resize(wanted)
      const before = await fleet.counts()
      const startedAt = performance.now()
      const round = await drain(bench, installation, workers, count)
      const { reports, polls, lost } = await fleet.counts()
      const seconds = (performance.now() - startedAt) / 1_000
      await requireRunning(installation, size * runningEach)
      if (lost > 0) throw new Error(`${lost} executions of the fleet were taken from it`)
      bench.progress(`drained with ${size} workers connected: ${Math.round(round.value)}/s`)
      return {
        round,
        perSecond: { reports: (reports - before.reports) / seconds, polls: (polls - before.polls) / seconds },
      }
    }

    await drain(bench, installation, workers, bench.size(5_000, 5_000))
    const what = { name: 'fleet', unit: 'x', valueOf: ratioOf }
    const rounds = await inRounds(bench, what, async (n) => {
      if (n % 2 === 1) return { few: await drainWith(few), many: await drainWith(many) }
      const first = await drainWith(many)
      return { few: await drainWith(few), many: first }
    })
    await resize(0)
    await requireSucceeded(installation, { since, submitted })
    return results(rounds, many)
  },
}

interface FleetDrain {
  round: Round
  /** What the fleet did meanwhile, from before the submission of what was drained. */
  perSecond: { reports: number; polls: number }
}

interface Pair {
  few: FleetDrain
  many: FleetDrain
}

function ratioOf({ few, many }: Pair): number {
  return many.round.value / few.round.value
}

/** As if the fleet's processes had used nothing: the drain would have had the rest of the processors as well. */
function withoutFleetCost({ few, many }: Pair): number {
  const left = ({ round: { value, cpu, count } }: FleetDrain) => {
    const elapsedMs = (count! / value) * 1_000
    return 1 - cpu!.generator / (elapsedMs * availableParallelism())
  }
  return (ratioOf({ few, many }) * left(few)) / left(many)
}

function results(rounds: readonly Pair[], many: number): Result[] {
  const part = ({ round, perSecond }: FleetDrain): Round => ({
    ...round,
    detail: {
      ...round.detail,
      'reports of the fleet /s': perSecond.reports,
      'polls of the fleet /s': perSecond.polls,
      ...cpuShares(round.cpu!, (round.count! / round.value) * 1_000),
    },
  })
  const told = { unit: '/s', target: null, better: 'higher' } as const
  return [
    resultOf(
      { name: `fleet drain, ${many} workers / ${few}`, unit: 'x', target, better: 'higher' },
      rounds.map((pair) => ({
        value: ratioOf(pair),
        detail: { 'if the fleet had cost nothing': withoutFleetCost(pair) },
      })),
    ),
    resultOf(
      { name: `fleet drain with ${few} workers`, ...told },
      rounds.map((pair) => part(pair.few)),
    ),
    resultOf(
      { name: `fleet drain with ${many} workers`, ...told },
      rounds.map((pair) => part(pair.many)),
    ),
  ]
}

/** What the fleet is to run. It may run for an hour. */
async function submitLong(installation: Installation, count: number): Promise<void> {
  if (count === 0) return
  const job = { type: 'ONE_SHOT', target: { pool, handler }, timeoutSec: 3_600 }
  const { tenants } = installation
  const batches = range(tenants.length).map((tenant) => ({
    tenant,
    jobs: range(count)
      .filter((n) => n % tenants.length === tenant)
      .map(() => job),
  }))
  await createJobs(
    installation,
    batches.filter(({ jobs }) => jobs.length > 0),
  )
}

async function requireRunning(installation: Installation, wanted: number): Promise<void> {
  const { running } = await installation.unfinished()
  if (running !== wanted) throw new Error(`${running} executions are running, not ${wanted}`)
}

/** Everything the fleet ran is in the ledger, run once. */
async function requireSucceeded(
  installation: Installation,
  { since, submitted }: { since: number; submitted: number },
): Promise<void> {
  const [row] = await installation.query<{ total: number; once: number }>(
    `select count(*)::int total, count(*) filter (where state = 'SUCCEEDED' and attempt = 1 and releases = 0)::int once
     from carillon.executions where execution_id >= carillon.first_id($1::bigint) and pool = $2`,
    [since, pool],
  )
  const { total, once } = row!
  if (total !== submitted || once !== submitted) {
    throw new Error(`of ${submitted} executions of the fleet ${total} are in the ledger, ${once} of them run once`)
  }
}
