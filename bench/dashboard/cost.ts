/**
 * What it costs an execution that somebody looks: node and PostgreSQL together, at a steady rate of whole lives, with one page open on Now and
 * a scrape of /metrics every 15 s, and without, in turns. Figures of minutes and their adding-up go on in both, as they always do.
 *
 * The page is a real one only while its requests are recorded: Chromium would take its CPU from the same two processors. Afterwards these very
 * requests are made again at the same pace by a process of the generator. Now opens no stream.
 */
import type { Generator, Installation } from '../ground/ground.ts'
import type { PacedOptions } from '../load/paced.ts'
import type { Asked, PageRequestsAnswer, PageRequestsOptions } from '../load/page-requests.ts'
import { concurrency, type Stretch, startLife } from '../load/steady-life.ts'
import { cpuPer } from '../measure/cpu.ts'
import { type Round, resultOf, spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Result } from '../scenario.ts'
import { openPage } from './page.ts'

/** Percent. */
const target = 3
const executionsPerSec = 2_000
const scrapeEveryMs = 15_000
const settleSec = 2
const load = (name: string) => new URL(`../load/${name}.ts`, import.meta.url)

const sides = ['without', 'with'] as const
type Side = (typeof sides)[number]

export async function measureCost(bench: Bench): Promise<Result[]> {
  const seconds = bench.size(30, 5)
  const rate = bench.size(executionsPerSec, 500)
  await using installation = await bench.ground.installation()
  await using workers = await installation.startWorkers(2, { concurrency })
  const { urls, tokens } = installation
  const paced: PacedOptions = { url: urls[0]!, tokens, executionsPerSec: rate, readsPerSec: 0, recentSec: 0 }
  await using life = await startLife(bench, installation, workers, () => bench.ground.generate(load('paced'), paced))
  const asked = await recordNow(bench, installation, seconds)
  const page = await replay(bench, installation, { asked, seconds })
  await life.goOn(bench.size(10, 2))

  const stretches: { side: Side; stretch: Stretch }[] = []
  for (let round = 0; round < bench.rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      page.tell(side === 'with')
      await life.goOn(settleSec)
      stretches.push({ side, stretch: await life.goOn(seconds) })
      bench.progress(`${side} an open page, turn ${round + 1}`)
    }
  }
  page.stop()
  const { requests } = await page.answer
  await life.end()
  await workers.stop()

  const rounds: Record<Side, Round[]> = { without: [], with: [] }
  for (const { side, stretch } of stretches) {
    const { finished, p50Ms, p99Ms } = await life.lifeIn(stretch)
    const cpu = cpuPer(stretch.cpu, finished)
    rounds[side].push({
      ...{ value: cpu['cpu node µs']! + cpu['cpu postgres µs']!, cpu: stretch.cpu, count: finished },
      detail: {
        'finished /s': (finished * 1_000) / (stretch.until - stretch.from),
        'from submission to end p50 ms': p50Ms,
        'from submission to end p99 ms': p99Ms,
      },
    })
  }
  return resultsOf(rounds, { rate, seconds, requests, asked: asked.length })
}

function resultsOf(rounds: Record<Side, Round[]>, detail: Record<string, number>): Result[] {
  const median = (side: Side) => spreadOf(rounds[side].map(({ value }) => value)).median
  const name = 'dashboard CPU of an execution'
  return [
    judged({
      ...{ name: `${name}, more with an open page`, unit: '%', target, better: 'lower' },
      value: tidy((median('with') / median('without') - 1) * 100),
      detail: {
        'executions /s': detail.rate!,
        ...{
          'seconds of a turn': detail.seconds!,
          'requests in a turn': detail.asked!,
          'requests in all': detail.requests!,
        },
        'by turns %': rounds.with
          .map(({ value }, turn) => tidy((value / rounds.without[turn]!.value - 1) * 100))
          .join(', '),
      },
    }),
    ...sides.map((side) =>
      resultOf({ name: `${name}, ${side} one`, unit: 'µs', target: null, better: 'lower' }, rounds[side]),
    ),
  ]
}

/** What a real page asks while work goes on, after its first answers; and what Prometheus does. */
async function recordNow(bench: Bench, installation: Installation, seconds: number): Promise<Asked[]> {
  await using opened = await openPage(bench, installation, { tenant: installation.tenants[0]!, path: '/' })
  const { page } = opened
  await page.getByRole('heading', { name: 'Now' }).waitFor()
  await page.getByText(/\d+ running, \d+ ready to start/).waitFor()
  await page.waitForTimeout(3_000)
  const asked: Asked[] = []
  const from = performance.now()
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    asked.push({ atMs: performance.now() - from, path: pathname + search })
  })
  await page.waitForTimeout(seconds * 1_000)
  for (let atMs = 1_000; atMs < seconds * 1_000; atMs += scrapeEveryMs) asked.push({ atMs, path: '/metrics' })
  const kinds = Map.groupBy(asked, ({ path }) => path.split('?')[0]!)
  bench.progress(`asked in ${seconds} s: ${[...kinds].map(([path, { length }]) => `${path} ${length}`).join(', ')}`)
  return asked
}

/** It asks nothing until it is told. */
async function replay(
  bench: Bench,
  installation: Installation,
  { asked, seconds }: { asked: Asked[]; seconds: number },
): Promise<Generator<PageRequestsAnswer>> {
  const options: PageRequestsOptions = {
    url: installation.urls[0]!,
    headers: { authorization: `Bearer ${installation.adminToken}`, 'carillon-tenant': installation.tenants[0]! },
    ...{ asked, everyMs: seconds * 1_000, recordedAt: Date.now() - seconds * 1_000 },
  }
  const generator = await bench.ground.generate<PageRequestsAnswer>(load('page-requests'), options)
  await generator.ready
  generator.go()
  return generator
}
