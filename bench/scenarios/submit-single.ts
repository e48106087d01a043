/**
 * Submissions over HTTP, one a request, over 64 connections that are kept. No worker runs: what is measured is the way in.
 * Every 201 must be a row of the ledger afterwards, and one that is ready. Judged is the plain request; what the SDK's client
 * adds, an Idempotency-Key whose answer is kept for a day, is told beside it.
 */
import type { Installation } from '../ground/ground.ts'
import type { LoopAnswer } from '../load/closed-loop.ts'
import type { SubmitSingleOptions } from '../load/submit-single.ts'
import { type WatchedLoop, watchLoop } from '../load/watch-loop.ts'
import { cpuShares } from '../measure/cpu.ts'
import { inRounds, resultOf } from '../measure/rounds.ts'
import type { Bench, Scenario } from '../scenario.ts'

const connections = 64
const load = new URL('../load/submit-single.ts', import.meta.url)

export const scenario: Scenario = {
  name: 'submit-single',
  summary: 'single submissions over HTTP, 64 connections, no worker',
  async run(bench) {
    await using installation = await bench.ground.installation()
    const seconds = bench.size(20, 5)
    const plain = await measure(bench, installation, { name: 'submit-single', seconds, withKeys: false })
    const keyed = await measure(bench, installation, {
      name: 'submit-single with keys',
      seconds: seconds / 2,
      withKeys: true,
    })
    const detail = { connections, seconds, workers: 0 }
    return [
      resultOf(
        { name: 'submit-single rate', unit: '/s', target: 7_000, better: 'higher', detail },
        plain.map((round) => ({
          value: rateOf(round),
          cpu: round.cpu,
          count: round.answered,
          detail: cpuShares(round.cpu, round.seconds * 1_000),
        })),
      ),
      resultOf(
        { name: 'submit-single p99', unit: 'ms', target: 50, better: 'lower' },
        plain.map(({ p99Ms, p50Ms, maxMs }) => ({ value: p99Ms, detail: { 'p50 ms': p50Ms, 'longest ms': maxMs } })),
      ),
      resultOf(
        { name: 'submit-single rate with Idempotency-Key', unit: '/s', target: null, better: 'higher' },
        keyed.map((round) => ({
          value: rateOf(round),
          cpu: round.cpu,
          count: round.answered,
          detail: { 'p99 ms': round.p99Ms },
        })),
      ),
    ]
  },
}

interface Measured {
  name: string
  seconds: number
  withKeys: boolean
}

function measure(bench: Bench, installation: Installation, { name, ...options }: Measured): Promise<WatchedLoop[]> {
  return inRounds(bench, { name, unit: '/s', valueOf: rateOf }, async () => {
    const since = await installation.now()
    const before = await installation.unfinished()
    const { urls, tokens } = installation
    const warmUpSec = bench.size(3, 2)
    const loopOptions: SubmitSingleOptions = { url: urls[0]!, tokens, connections, warmUpSec, ...options }
    const loop = await watchLoop(bench, await bench.ground.generate<LoopAnswer>(load, loopOptions))
    const created = loop.statuses['201'] ?? 0
    const { total } = await installation.ledger(since)
    const ready = (await installation.unfinished()).ready - before.ready
    if (total !== created || ready !== created) {
      throw new Error(`${created} were answered 201, but the ledger holds ${total} of them and ${ready} are ready`)
    }
    bench.progress(`${created} answered 201, all of them in the ledger and ready; p99 ${loop.p99Ms.toFixed(1)} ms`)
    return loop
  })
}

function rateOf({ answered, seconds }: LoopAnswer): number {
  return answered / seconds
}
