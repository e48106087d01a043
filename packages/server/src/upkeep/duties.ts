/** Duties for the whole installation, done by one node at a time: the leader of shard 0. */
import type { Leadership } from '../leadership/port.ts'
import { monotonicMs } from '../lib/clock.ts'
import { type Again, Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { NodeMetrics } from '../observability/node-metrics.ts'

export interface Duty {
  name: string
  everyMs: number
  runOnce: () => Promise<Again | undefined> | Promise<void>
}

export class Duties implements Service {
  readonly #loops: Loop[]

  constructor(options: { duties: Duty[]; leadership: Leadership; logger: Logger; metrics: NodeMetrics }) {
    const { duties, leadership, logger, metrics } = options
    this.#loops = duties.map(
      ({ name, everyMs, runOnce }) =>
        new Loop({
          name,
          everyMs,
          logger,
          runOnce: async () => {
            const isLeader = leadership.shards().some((s) => s.shard === 0)
            return isLeader ? await timed(name, runOnce, metrics) : undefined
          },
        }),
    )
  }

  async start(): Promise<void> {
    for (const loop of this.#loops) await loop.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
  }
}

async function timed(name: string, runOnce: Duty['runOnce'], metrics: NodeMetrics): Promise<Again | undefined> {
  const began = monotonicMs()
  try {
    return (await runOnce()) || undefined
  } catch (error) {
    metrics.dutyFailed(name)
    throw error
  } finally {
    metrics.dutyDone(name, (monotonicMs() - began) / 1_000)
  }
}
