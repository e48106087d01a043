/**
 * Reads what only tables know for metrics, every few seconds and with bounds. The leader of shard 0 reads it for the whole
 * installation, so that the figures of all nodes can be added up; every node looks for shards without a leader, because shard 0 may be
 * one of them.
 */
import { signalName } from '../domain/built-in-targets.ts'
import type { Leadership } from '../leadership/port.ts'
import type { Clock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { InstallationSample, RunSample, SampledMetrics } from '../observability/sampled-metrics.ts'
import { readRunDepths } from '../store/dags/read-figures.ts'
import type { Database } from '../store/database.ts'
import { readSubscriptions } from '../store/events/subscriptions.ts'
import { type DepthRow, readDepths } from '../store/executions/read-depths.ts'
import { countQuarantined } from '../store/quarantine/read.ts'
import { countOverdue } from '../store/schedules/count-overdue.ts'
import { countShards } from '../store/shards/nodes.ts'
import { readProgress } from '../store/verification/progress.ts'

const overdueMs = 10_000
const mostCounted = 10_000

export interface SamplerOptions {
  database: Database
  clock: Clock
  leadership: Pick<Leadership, 'shards'>
  metrics: SampledMetrics
  everyMs: number
  logger: Logger
}

export class Sampler implements Service {
  readonly #options: SamplerOptions
  readonly #loop: Loop

  constructor(options: SamplerOptions) {
    this.#options = options
    const { everyMs, logger } = options
    this.#loop = new Loop({ name: 'sampler', everyMs, logger, runOnce: () => this.runOnce() })
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async runOnce(): Promise<void> {
    const { database, leadership, metrics } = this.#options
    metrics.leaderless((await countShards(database)).leaderless)
    const leads = leadership.shards().some(({ shard }) => shard === 0)
    metrics.sampled(leads ? await this.#sample() : null)
  }

  async #sample(): Promise<InstallationSample> {
    const { database, clock } = this.#options
    const now = clock.now()
    const depths = await readDepths(database)
    return {
      depths: depths.map(({ since, ...depth }) => ({
        ...depth,
        oldestMs: since === null ? 0 : Math.max(0, now - since),
      })),
      runs: await this.#sampleRuns(depths, now),
      overdue: await countOverdue(database, { byMs: overdueMs, now, most: mostCounted }),
      quarantined: await countQuarantined(database, mostCounted),
      subscriptions: await readSubscriptions(database),
      verified: await readProgress(database),
    }
  }

  async #sampleRuns(depths: readonly DepthRow[], now: number): Promise<RunSample> {
    const { runs, steps, oldestSince } = await readRunDepths(this.#options.database)
    // Steps that wait for a signal are leases in a pool of their own.
    const signal = depths.find(({ where, pool }) => where === 'running' && pool === signalName)
    return {
      runs,
      steps: [...steps, { where: 'signal', count: signal?.count ?? 0 }],
      oldestMs: oldestSince === null ? 0 : Math.max(0, now - oldestSince),
    }
  }
}
