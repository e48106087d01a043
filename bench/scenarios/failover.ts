/**
 * Three nodes on one PostgreSQL, 2,000 jobs that fire once a second. Again and again one of the nodes is killed with -9, in
 * turn, and replaced at once; each of them leads a third of the shards. Told is the longest time from due to fired, over
 * all shards and all kills. In the end the ledger must hold every occurrence exactly once, succeeded.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Installation, NodeProcess } from '../ground/ground.ts'
import { createBeats } from '../load/create-jobs.ts'
import { type BeatLedger, ledgerOf } from '../measure/beat-ledger.ts'
import { wallMs } from '../measure/clock.ts'
import { cpuBetween, cpuShares } from '../measure/cpu.ts'
import { secondAhead, untilWall } from '../measure/lateness.ts'
import { spreadOf, tidy } from '../measure/rounds.ts'
import { type Bench, judged, type Scenario } from '../scenario.ts'

const targetMs = 3_000
export const nodeCount = 3
/** Before the first kill, and between the moment all is even again and the next. */
const calmMs = 5_000
const evenWithinMs = 30_000
const lookEveryMs = 100

interface Kill {
  at: number
  shards: number
  /** When three nodes shared the shards again. */
  evenAfterMs: number
}

export const scenario: Scenario = {
  name: 'failover',
  summary: 'kill -9 of a leading node among three: longest time from due to fired, 2,000 jobs, ten kills',
  async run(bench) {
    await using installation = await bench.ground.installation({ nodes: nodeCount })
    const options = { jobs: bench.size(2_000, 2_000), times: bench.size(10, 2), calmMs }
    const { gaps, calmGap, evenAfterMs, ledger, twice, shares } = await failOver(bench, installation, options)
    const spread = spreadOf(gaps)
    return [
      judged({
        name: 'failover longest due to fired',
        value: tidy(spread.max),
        unit: 'ms',
        target: targetMs,
        better: 'lower',
        detail: {
          kills: gaps.length,
          'each ms': gaps.map((ms) => Math.round(ms)).join(' '),
          'median ms': tidy(spread.median),
          'before the first kill ms': tidy(calmGap),
          'even again after ms': evenAfterMs.map(Math.round).join(' '),
          occurrences: ledger.fires,
          'more than one attempt': ledger.repeated,
          'handlers begun twice': twice,
          ...shares,
        },
      }),
      judged({
        name: 'failover missing or doubled',
        value: ledger.missing + ledger.doubled,
        unit: 'occurrences',
        target: 0,
        better: 'lower',
      }),
    ]
  },
}

export interface FailOver {
  /** Of each kill, ms. */
  gaps: number[]
  /** Before the first kill, ms. */
  calmGap: number
  evenAfterMs: number[]
  ledger: BeatLedger
  /** Handlers that began more than once for the same execution. */
  twice: number
  /** CPU by role, in percent of one processor. */
  shares: Record<string, number>
}

/** On an installation of `nodeCount` nodes. `calmMs` pass before the first kill and before every other. */
export async function failOver(
  bench: Bench,
  installation: Installation,
  { jobs, times, calmMs }: { jobs: number; times: number; calmMs: number },
): Promise<FailOver> {
  await using workers = await installation.startWorkers(2, { record: true })
  const from = secondAhead(5_000)
  await createBeats(installation, { jobs, from, seconds: 60 + times * (evenWithinMs / 1_000) })
  if (wallMs() > from) throw new Error('creating the jobs took longer than the time until their first occurrence')
  await untilWall(from + calmMs)
  const before = await bench.ground.cpu()
  const kills: Kill[] = []
  const nodes = [...installation.nodes]
  for (let n = 0; n < times; n++) {
    await evenlyLed(installation, nodes)
    await sleep(calmMs)
    kills.push(await kill(installation, nodes, n % nodeCount))
    bench.progress(
      `kill ${n + 1} of ${times}: ${kills[n]!.shards} shards, even again after ${kills[n]!.evenAfterMs} ms`,
    )
  }
  const until = secondAhead(1_000)
  await untilWall(until)
  const cpu = cpuBetween(before, await bench.ground.cpu())
  const ledger = await ledgerOf(installation, { jobs, from, until })
  const runs = await workers.runs()
  const gaps = await gapsOf(installation, kills, until)
  bench.progress(`${ledger.fires} occurrences in the ledger; gaps: ${gaps.map((ms) => tidy(ms)).join(', ')} ms`)
  return {
    ...{ gaps, ledger, evenAfterMs: kills.map(({ evenAfterMs }) => evenAfterMs) },
    calmGap: await gapIn(installation, from + 2_000, kills[0]!.at - 1_000),
    twice: begunTwice(runs.filter(({ dueAt }) => dueAt >= from && dueAt < until)),
    shares: cpuShares(cpu, until - from - calmMs),
  }
}

/** Ends one of the nodes and starts another in its place, where workers will look for it. */
async function kill(installation: Installation, nodes: NodeProcess[], turn: number): Promise<Kill> {
  const victim = nodes[turn]!
  const shards = (await ledBy(installation)).get(victim.nodeId) ?? 0
  if (shards === 0) throw new Error('the node to be killed leads nothing')
  const gone = once(victim.child, 'exit')
  const at = wallMs()
  victim.child.kill('SIGKILL')
  await gone
  nodes[turn] = await installation.startNode({ port: Number(new URL(victim.url).port) })
  await evenlyLed(installation, nodes)
  return { at, shards, evenAfterMs: wallMs() - at }
}

/** Waits until exactly these nodes lead all shards in equal parts. */
async function evenlyLed(installation: Installation, nodes: NodeProcess[]): Promise<void> {
  const deadline = performance.now() + evenWithinMs
  for (;;) {
    const led = await ledBy(installation)
    const counts = nodes.map(({ nodeId }) => led.get(nodeId) ?? 0)
    if (led.size === nodes.length && Math.max(...counts) - Math.min(...counts) <= 1) return
    if (performance.now() > deadline) throw new Error(`the shards are not shared evenly: ${counts.join(', ')}`)
    await sleep(lookEveryMs)
  }
}

/** Shards by node; those that nobody leads are under the empty name. */
async function ledBy(installation: Installation): Promise<Map<string, number>> {
  const rows = await installation.query<{ node: string; n: number }>(
    `select coalesce(node_id::text, '') node, count(*)::int n from carillon.shards group by 1`,
  )
  return new Map(rows.map(({ node, n }) => [node, n]))
}

/** For each kill the longest gap of what was due from a second before it until a second before the next. */
function gapsOf(installation: Installation, kills: Kill[], until: number): Promise<number[]> {
  return Promise.all(
    kills.map(({ at }, n) => gapIn(installation, at - 1_000, (kills[n + 1]?.at ?? until + 1_000) - 1_000)),
  )
}

async function gapIn(installation: Installation, from: number, until: number): Promise<number> {
  const [row] = await installation.query<{ gap: number }>(
    `select coalesce(max(extract(epoch from fired_at - due_at) * 1000), 0)::float8 gap from carillon.executions
     where execution_id >= carillon.first_id($1) and execution_id < carillon.first_id($2) and origin = 'SCHEDULE'`,
    [Math.round(from), Math.round(until)],
  )
  return row!.gap
}

function begunTwice(runs: readonly { executionId: string }[]): number {
  return runs.length - new Set(runs.map(({ executionId }) => executionId)).size
}
