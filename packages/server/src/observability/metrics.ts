/** Metrics of one node, in Prometheus' text form. They are counted where things happen, or sampled; a scrape reads no table. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import { exposition, type Family } from './families.ts'
import { NodeMetrics } from './node-metrics.ts'
import { RunMetrics } from './run-metrics.ts'
import { SampledMetrics } from './sampled-metrics.ts'
import { SeamMetrics } from './seam-metrics.ts'
import { WorkMetrics } from './work-metrics.ts'

/** Gauges of prom-client whose names end like a counter's. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

export class Metrics {
  readonly work = new WorkMetrics()
  readonly runs = new RunMetrics()
  readonly sampled = new SampledMetrics()
  readonly seams = new SeamMetrics()
  readonly node = new NodeMetrics()
  readonly families: readonly Family<unknown>[] = [
    ...[...this.work.families, ...this.runs.families, ...this.sampled.families],
    ...[...this.seams.families, ...this.node.families],
  ]
  /** Of the process: memory, CPU, event loop, garbage collection. */
  readonly #process = new Registry()

  constructor() {
    collectDefaultMetrics({ register: this.#process })
    for (const name of misnamed) this.#process.removeSingleMetric(name)
  }

  /** `whole`: with the labels that name tenants, pools, handlers and graphs; else series that differ only in those are one. */
  async text({ whole }: { whole: boolean }): Promise<string> {
    this.sampled.prune()
    this.node.refresh()
    return `${exposition(this.families, { whole })}\n${await this.#process.metrics()}`
  }
}
