/**
 * Every node writes every 10 seconds how it is, whether or not it leads anything and whatever elects the leaders: so one node can
 * tell of all. A node that stops takes its row along; one that was killed is not listed after a minute.
 */
import { performance } from 'node:perf_hooks'
import { monotonicMs, type OffsetClock } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { removeNodeFacts, writeNodeFacts } from '../store/nodes/facts.ts'

export interface NodeRecorderOptions {
  database: Database
  clock: OffsetClock
  logger: Logger
  nodeId: string
  node: { name: string; version: string }
  /** How many worker sessions the node has. */
  workers: () => number
  /** Servers that it cannot reach. */
  away: () => string[]
}

const everyMs = 10_000

export class NodeRecorder implements Service {
  readonly #options: NodeRecorderOptions
  readonly #loop: Loop
  #since = monotonicMs()
  #cpu = process.cpuUsage()
  #eventLoop = performance.eventLoopUtilization()

  constructor(options: NodeRecorderOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...{ name: 'node recorder', everyMs, logger: options.logger },
      runOnce: () => this.runOnce(),
    })
  }

  async start(): Promise<void> {
    await this.runOnce()
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await removeNodeFacts(this.#options.database, this.#options.nodeId)
  }

  async runOnce(): Promise<void> {
    const { database, clock, nodeId, node, workers, away } = this.#options
    await writeNodeFacts(database, {
      ...{ nodeId, ...node, clockOffsetMs: Math.round(-clock.offsetMs * 10) / 10 },
      ...{ workers: workers(), memoryBytes: process.memoryUsage.rss(), away: away(), ...this.#load() },
    })
  }

  /** Since it was last asked. */
  #load(): { cpu: number; eventLoop: number } {
    const now = monotonicMs()
    const { user, system } = process.cpuUsage(this.#cpu)
    const eventLoop = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(eventLoop, this.#eventLoop)
    const cpu = (user + system) / 1_000 / Math.max(1, now - this.#since)
    this.#since = now
    this.#cpu = process.cpuUsage()
    this.#eventLoop = eventLoop
    return { cpu: rounded(cpu), eventLoop: rounded(utilization) }
  }
}

function rounded(share: number): number {
  return Math.round(share * 1_000) / 1_000
}
