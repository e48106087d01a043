/**
 * One tenant beside another that has a million executions.
 *
 * `backlog`: one has 1,000,000 ready, the other submits ten a second; how long those wait for their start. `hot`: one has 1,000,000
 * one-shots due in the same second, the other ten jobs that fire each second; how late these start, and when the last of the million has fired.
 * `shares`: both have a backlog, with weights 3 and 1; who starts the first executions.
 *
 * Waits and lateness are the ledger's: the start of the handler, by its worker, after the due time.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { Installation, Workers } from '../ground/ground.ts'
import type { BatchesAnswer, BatchesOptions } from '../load/batches.ts'
import { createBeats, createJobs, msToCreate, range, workOf } from '../load/create-jobs.ts'
import { secondAhead, untilWall } from '../measure/lateness.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Bench, Result, Scenario } from '../scenario.ts'

const [large, small] = [0, 1]
const concurrency = 40
const perSec = 10
const targets = { waitMs: 250, lateMs: 250, firedSec: 90, sharePoints: 5 }
const longestMs = 600_000

export const scenario: Scenario = {
  name: 'fairness',
  summary: 'a tenant beside one with a million executions, and shares by weight',
  limitMinutes: 60,
  quickLimitMinutes: 5,
  parts: ['backlog', 'hot', 'shares'],
  async run(bench) {
    await using installation = await bench.ground.installation()
    const workers = await installation.startWorkers(2, { concurrency })
    const results: Result[] = []
    const wants = (part: string) => bench.part === null || bench.part === part
    if (wants('backlog')) results.push(...(await backlogs(bench, installation, workers)))
    if (wants('hot')) results.push(...(await hotSeconds(bench, installation, workers)))
    if (wants('shares')) results.push(...(await shares(bench, installation, workers)))
    return results
  },
}

async function backlogs(bench: Bench, installation: Installation, workers: Workers): Promise<Result[]> {
  const count = bench.size(1_000_000, 50_000)
  const rounds = await inRounds(
    bench,
    { name: 'fairness backlog', unit: 'ms', valueOf: ({ value }: Round) => value },
    async () => {
      await installation.request('POST /v1/pools/default/pause')
      const since = await installation.now()
      const begun = workers.count()
      await submitFor(bench, installation, large, count)
      await installation.request('POST /v1/pools/default/resume')
      let submitted = 0
      const drained = workers.reached(begun + count, longestMs).then(() => true)
      for (let done = false; !done; done = await Promise.race([drained, after(1_000 / perSec, false)])) {
        await createJobs(installation, [{ tenant: small, jobs: [workOf(submitted++, { type: 'ONE_SHOT' })] }])
      }
      await workers.finished(begun + count + submitted, longestMs)
      const waited = await waitsOf(installation, small, since)
      return {
        value: waited.p99,
        count: waited.count,
        detail: { 'p50 ms': waited.p50, 'longest ms': waited.longest, waited: waited.count },
      }
    },
  )
  return [
    resultOf(
      {
        name: 'fairness wait beside a backlog p99',
        unit: 'ms',
        target: targets.waitMs,
        better: 'lower',
        detail: { backlog: count, 'submitted /s': perSec },
      },
      rounds,
    ),
  ]
}

async function hotSeconds(bench: Bench, installation: Installation, workers: Workers): Promise<Result[]> {
  const count = bench.size(1_000_000, 20_000)
  const atOnce = 500
  const [beforeSec, afterSec] = [3, 40]
  const measured = await inRounds(
    bench,
    { name: 'fairness hot second', unit: 's', valueOf: ({ firedSec }: { firedSec: number }) => firedSec },
    async () => {
      const begun = workers.count()
      const second = secondAhead((await msToCreate(installation, count, atOnce)) + beforeSec * 1_000)
      const runAt = new Date(second + 500).toISOString()
      const batches = range(Math.ceil(count / atOnce)).map((batch) => ({
        tenant: large,
        jobs: range(Math.min(atOnce, count - batch * atOnce)).map((n) => workOf(n, { type: 'ONE_SHOT', runAt })),
      }))
      await createJobs(installation, batches)
      const seconds = beforeSec + afterSec
      await createBeats(installation, { jobs: perSec, from: second - beforeSec * 1_000, seconds, tenants: [small] })
      await untilWall(second)
      await workers.finished(begun + count + perSec * seconds, longestMs)
      const late = await waitsOf(installation, small, second)
      const [row] = await installation.query<{ fired: number }>(
        `select (carillon.ms(max(e.fired_at)) - $2::bigint)::float8 / 1000 fired from carillon.executions e
       where e.tenant = $1 and e.execution_id >= carillon.first_id($2::bigint)`,
        [installation.tenants[large], second],
      )
      return { firedSec: row!.fired, late }
    },
  )
  return [
    resultOf(
      {
        name: 'fairness all of a million fired',
        unit: 's',
        target: targets.firedSec,
        better: 'lower',
        detail: { jobs: count },
      },
      measured.map(({ firedSec }) => ({ value: firedSec })),
    ),
    resultOf(
      { name: 'fairness lateness beside it p99', unit: 'ms', target: targets.lateMs, better: 'lower' },
      measured.map(({ late }) => ({
        value: late.p99,
        detail: { fires: late.count, 'p50 ms': late.p50, 'longest ms': late.longest },
      })),
    ),
  ]
}

/** The share of the tenant of weight 3 among the first that were leased, in hundredths, less 75. */
async function shares(bench: Bench, installation: Installation, workers: Workers): Promise<Result[]> {
  const first = bench.size(10_000, 4_000)
  const tenant = installation.tenants[large]!
  await installation.request(`PUT /v1/tenants/${tenant}`, { weight: 3 })
  // Nodes know of it when the signal has come, at the latest after ten seconds.
  await after(10_500)
  const rounds = await inRounds(
    bench,
    { name: 'fairness shares', unit: 'points', valueOf: ({ value }: Round) => value },
    async () => {
      await installation.request('POST /v1/pools/default/pause')
      const since = await installation.now()
      const begun = workers.count()
      for (const each of [large, small]) await submitFor(bench, installation, each, first)
      await installation.request('POST /v1/pools/default/resume')
      await workers.finished(begun + 2 * first, longestMs)
      // Fences grow with every lease.
      const [row] = await installation.query<{ share: number }>(
        `select 100.0::float8 * count(*) filter (where tenant = $1) / count(*) share from (
         select tenant from carillon.executions where execution_id >= carillon.first_id($2::bigint) order by fence limit $3) leased`,
        [tenant, since, first],
      )
      return { value: Math.abs(row!.share - 75), detail: { 'share %': row!.share } }
    },
  )
  await installation.request(`PUT /v1/tenants/${tenant}`, { weight: 1 })
  return [
    resultOf(
      {
        name: 'fairness share of weight 3 beside 1, off by',
        unit: 'points',
        target: targets.sharePoints,
        better: 'lower',
        detail: { first },
      },
      rounds,
    ),
  ]
}

async function submitFor(bench: Bench, { urls, tokens }: Installation, tenant: number, count: number): Promise<void> {
  const load: BatchesOptions = { urls, tokens: [tokens[tenant]!], batch: 500, inFlight: 4, count }
  const generator = await bench.ground.generate<BatchesAnswer>(new URL('../load/batches.ts', import.meta.url), load)
  generator.go()
  await generator.answer
}

interface Waits {
  count: number
  p50: number
  p99: number
  longest: number
}

/** Of what was due since then. */
async function waitsOf(installation: Installation, tenant: number, since: number): Promise<Waits> {
  const [row] = await installation.query<{ count: number; ms: [number, number, number] }>(
    `select count(*)::int count, percentile_disc(array[0.5, 0.99, 1]) within group (order by carillon.ms(started_at) - carillon.ms(due_at)) ms
     from carillon.executions where tenant = $1 and execution_id >= carillon.first_id($2::bigint) and state = 'SUCCEEDED'`,
    [installation.tenants[tenant], since],
  )
  const [p50, p99, longest] = row!.ms
  return { count: row!.count, p50: Number(p50), p99: Number(p99), longest: Number(longest) }
}
