/**
 * What an execution costs with larger payloads and with fewer or more tenants: the same drain again and again, one thing
 * changed at a time, in turns. Told, not judged: docs/performance.md shows how cost grows.
 */
import type { BatchesAnswer, BatchesOptions } from '../load/batches.ts'
import { cpuBetween } from '../measure/cpu.ts'
import { inRounds, type Round, resultOf } from '../measure/rounds.ts'
import type { Scenario } from '../scenario.ts'
import { concurrency, drainReady } from './drain.ts'

interface Variation {
  name: string
  payloadBytes?: number
  tenants?: number
  /** In one request: a batch may have 8 MiB. */
  batch: number
  count: number
}

const load = new URL('../load/batches.ts', import.meta.url)

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
    const { urls, tokens } = installation
    const measure = async ({ payloadBytes, tenants, batch, count }: Variation): Promise<Round> => {
      await installation.request('POST /v1/pools/default/pause')
      const options: BatchesOptions = {
        urls,
        tokens: tokens.slice(0, tenants),
        batch,
        inFlight: 4,
        count,
        payloadBytes,
      }
      const generator = await bench.ground.generate<BatchesAnswer>(load, options)
      generator.go()
      const { elapsedMs } = await generator.answer
      const before = await bench.ground.cpu()
      const value = await drainReady(installation, workers, count)
      const cpu = cpuBetween(before, await bench.ground.cpu())
      return { value, cpu, count, detail: { 'submitted /s': (count * 1_000) / elapsedMs } }
    }
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
