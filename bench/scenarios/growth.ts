/**
 * What an execution costs with larger payloads and with fewer or more tenants: the same drain again and again, one thing
 * changed at a time, in turns. Told, not judged: docs/performance.md shows how cost grows.
 */
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Scenario } from '../scenario.ts'
import { concurrency, drain, warmUp } from './drain.ts'

interface Variation {
  name: string
  payloadBytes?: number
  tenants?: number
  /** In one request: a batch may have 8 MiB. */
  batch: number
  count: number
}

export const scenario: Scenario = {
  name: 'growth',
  summary: 'what an execution costs with larger payloads, and with fewer tenants; not part of `all`',
  async run(bench) {
    await using installation = await bench.ground.installation()
    const workers = await installation.startWorkers(2, { concurrency })
    const size = (count: number) => bench.size(count, Math.ceil(count / 5))
    const variations: Variation[] = [
      { name: '100 tenants, 60 bytes', batch: 500, count: size(50_000) },
      { name: '1 tenant', tenants: 1, batch: 500, count: size(50_000) },
      { name: '10 tenants', tenants: 10, batch: 500, count: size(50_000) },
      { name: 'payload 1 KiB', payloadBytes: 1_024, batch: 500, count: size(50_000) },
      { name: 'payload 16 KiB', payloadBytes: 16_384, batch: 100, count: size(10_000) },
      { name: 'payload 128 KiB', payloadBytes: 131_072, batch: 20, count: size(2_000) },
    ]
    const measure = ({ payloadBytes, tenants, batch, count }: Variation) => {
      const tokens = installation.tokens.slice(0, tenants)
      return drain(bench, installation, workers, count, { tokens, batch, payloadBytes })
    }
    await drain(bench, installation, workers, bench.size(warmUp, warmUp))
    const turns = await inRounds(bench, { name: 'growth', unit: '/s', valueOf: (turn) => turn[0]!.value }, async () => {
      const rounds: Round[] = []
      for (const variation of variations) rounds.push(await measure(variation))
      return rounds
    })
    return variations.map(({ name, count }, i) =>
      resultOf(
        { name: `growth ${name}`, unit: '/s', target: null, better: 'higher', detail: { executions: count } },
        turns.map((rounds) => rounds[i]!),
      ),
    )
  },
}
