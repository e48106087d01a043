/**
 * Carillon beside graphile-worker, pg-boss and BullMQ: bulk submission, drain and idle pick-up, on one machine, in one run,
 * each through its documented fastest settings (bench/peers/README.md). What Carillon takes over HTTP in bulk, a way that the
 * peers do not have, is told beside. What must stay true:
 *
 * - The peers take turns: every round measures all of them, each round begins with another one. What the machine does to
 *   one it does to the others, and nobody is always first.
 * - Before each measurement the peer's tables are vacuumed and a checkpoint is taken, so that dead rows and dirty pages of
 *   one turn are not paid for in the next one.
 * - Ratios are those of the medians of this run; no figure of another run is compared with.
 */
import type { Ground } from '../ground/ground.ts'
import { quantiles } from '../measure/quantiles.ts'
import { type Round, resultOf, shortNumber, spreadOf, tidy } from '../measure/rounds.ts'
import { type Peer, type PeerName, peerNames, type Stretch } from '../peers/peer.ts'
import { QueuePeer } from '../peers/queue-peer.ts'
import type { Store } from '../peers/wiring.ts'
import { type Bench, judged, type Result, type Scenario } from '../scenario.ts'
import { concurrency } from './drain.ts'

/** How many times as fast Carillon has to be; null: told only. */
const drainTargets = { 'graphile-worker': 1, 'pg-boss': 1.5, bullmq: 3 }
/** What a job may cost by the library, of the peer's cost: CPU of all processes. */
const costTargets = { 'graphile-worker': 0.9, 'pg-boss': 0.6, bullmq: null }
const submitTargets = { 'graphile-worker': 1.2, 'pg-boss': null, bullmq: null }
const slowerThanBullMqMs = 2
const others = ['graphile-worker', 'pg-boss', 'bullmq'] as const

interface Figures {
  submit: Round[]
  /** Of Carillon only. */
  submitOverHttp: Round[]
  drain: Round[]
  pickup: Round[]
}

export const scenario: Scenario = {
  name: 'peers',
  summary: 'drain, bulk submission and pick-up beside graphile-worker, pg-boss and BullMQ',
  limitMinutes: 40,
  async run(bench) {
    const sizes = {
      count: bench.size(300_000, 20_000),
      warmUp: bench.size(50_000, 2_000),
      samples: bench.size(200, 50),
    }
    const missing = new Map<PeerName, string>()
    await using opened = new AsyncDisposableStack()
    const peers: Peer[] = []
    for (const name of peerNames) {
      try {
        peers.push(opened.use(new QueuePeer(bench.ground, name, await openStore(bench.ground, name))))
      } catch (error) {
        if (name !== 'bullmq') throw error
        missing.set(name, (error as Error).message)
        bench.progress(`peers: no BullMQ: ${(error as Error).message}`)
      }
    }
    const none = (): Figures => ({ submit: [], submitOverHttp: [], drain: [], pickup: [] })
    const figures = new Map(peers.map(({ name }): [PeerName, Figures] => [name, none()]))
    for (let round = 0; round < bench.rounds; round++) {
      const first = round % peers.length
      for (const peer of [...peers.slice(first), ...peers.slice(0, first)]) {
        await takeTurn(bench, peer, sizes, figures.get(peer.name)!)
      }
    }
    return resultsOf(figures, missing)
  },
}

async function openStore(ground: Ground, name: PeerName): Promise<Store> {
  switch (name) {
    case 'carillon':
      return (await import('../peers/carillon.ts')).openStore(ground, { concurrency })
    case 'carillon library':
      return (await import('../peers/carillon-library.ts')).openStore(ground, { concurrency })
    case 'graphile-worker':
      return (await import('../peers/graphile-worker.ts')).openStore(ground)
    case 'pg-boss':
      return (await import('../peers/pg-boss.ts')).openStore(ground)
    case 'bullmq':
      return (await import('../peers/bullmq.ts')).openStore(ground)
  }
}

async function takeTurn(
  bench: Bench,
  peer: Peer,
  { count, warmUp, samples }: { count: number; warmUp: number; samples: number },
  figures: Figures,
): Promise<void> {
  await peer.settle()
  const submit = roundOf(await peer.submitBulk(count, warmUp))
  await peer.settle()
  const drain = roundOf(await peer.drain(count, warmUp))
  figures.submit.push(submit)
  figures.drain.push(drain)
  bench.progress(`peers: ${peer.name}: submits ${shortNumber(submit.value)}/s, drains ${shortNumber(drain.value)}/s`)
  if (peer.name === 'carillon library') return
  await peer.settle()
  const [p50, p95, p99] = quantiles(await peer.pickup(samples), [0.5, 0.95, 0.99]) as [number, number, number]
  if (peer.name === 'carillon') {
    await peer.settle()
    figures.submitOverHttp.push(roundOf(await peer.submitBulk(count, warmUp, { overHttp: true })))
    await peer.drain(count, warmUp)
  }
  figures.pickup.push({ value: p50, detail: { 'p95 ms': p95, 'p99 ms': p99, samples } })
  bench.progress(`peers: ${peer.name}: picks up in ${shortNumber(p50)} ms`)
}

/** A tiny size may be gone with the warm-up: no figure then. */
function roundOf({ count, seconds, cpu, redisMs }: Stretch): Round {
  const redis = redisMs > 0 && { 'cpu redis µs': (redisMs * 1_000) / count }
  return { value: count > 0 ? count / seconds : Number.NaN, cpu, count, detail: { jobs: count, ...redis } }
}

function resultsOf(figures: Map<PeerName, Figures>, missing: Map<PeerName, string>): Result[] {
  const told = (what: keyof Figures, name: string, unit: string): Result[] =>
    [...figures].map(([peer, rounds]) =>
      resultOf(
        { name: `peers ${name} ${peer}`, unit, target: null, better: unit === 'ms' ? 'lower' : 'higher' },
        rounds[what],
      ),
    )
  /** NaN of a peer that is missing: no target is reached with it. */
  const medianOf = (what: keyof Figures, peer: PeerName) =>
    spreadOf((figures.get(peer)?.[what] ?? []).map(({ value }) => value)).median
  /** Microseconds of CPU of a drained job in its workers and its store. Carillon's node, if it has one, works for nobody else. */
  const costOf = (peer: PeerName) =>
    spreadOf(
      (figures.get(peer)?.drain ?? []).map(({ cpu, count, detail }) => {
        const { worker, postgres, node } = cpu!
        const ms = worker + postgres + (peer === 'carillon' ? node : 0)
        return (ms * 1_000) / count! + Number(detail?.['cpu redis µs'] ?? 0)
      }),
    ).median
  const why = (peer: PeerName) => (missing.has(peer) ? { detail: { missing: missing.get(peer)! } } : {})
  const ratios = (what: 'drain' | 'submit', name: string, targets: Record<(typeof others)[number], number | null>) =>
    others.map((peer) =>
      judged({
        name: `peers ${name} carillon / ${peer}`,
        value: tidy(medianOf(what, 'carillon') / medianOf(what, peer)),
        unit: 'x',
        target: targets[peer],
        better: 'higher',
        ...why(peer),
      }),
    )
  return [
    ...told('drain', 'drain', '/s'),
    ...told('submit', 'submit-bulk', '/s'),
    resultOf(
      { name: 'peers submit-bulk carillon over HTTP', unit: '/s', target: null, better: 'higher' },
      figures.get('carillon')!.submitOverHttp,
    ),
    ...told('pickup', 'pickup p50', 'ms').filter(({ detail }) => detail?.rounds !== 0),
    ...ratios('drain', 'drain', drainTargets),
    ...ratios('submit', 'submit-bulk', submitTargets),
    ...others.map((peer) =>
      judged({
        name: `peers drain CPU carillon library / ${peer}`,
        value: tidy(costOf('carillon library') / costOf(peer)),
        unit: 'x',
        target: costTargets[peer],
        better: 'lower',
        detail: {
          'carillon library µs': tidy(costOf('carillon library')),
          [`${peer} µs`]: tidy(costOf(peer)),
          ...why(peer).detail,
        },
      }),
    ),
    judged({
      name: 'peers pickup p50 carillon - bullmq',
      value: tidy(medianOf('pickup', 'carillon') - medianOf('pickup', 'bullmq')),
      unit: 'ms',
      target: slowerThanBullMqMs,
      better: 'lower',
      ...why('bullmq'),
    }),
  ]
}
