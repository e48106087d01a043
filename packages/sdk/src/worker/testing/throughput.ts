/**
 * How fast one worker takes, runs and reports no-op executions when the node costs nothing:
 * `node packages/sdk/src/worker/testing/throughput.ts [roundTripMs]`
 */
import { setTimeout as delay } from 'node:timers/promises'
import { defineHandler } from '../../handler.ts'
import { implementHandler } from '../running/registered-handler.ts'
import type { LeaseAnswer, LeaseRequest, ReportAnswer, Transport, WorkerReport, WorkerTimes } from '../transport.ts'
import { Worker } from '../worker.ts'
import { execution } from './scripted-transport.ts'

const roundTripMs = Number(process.argv[2] ?? 2)
const warmUp = 50_000
const measured = 500_000

class EndlessTransport implements Transport {
  leased = 0
  reported = 0
  reports = 0
  leases = 0
  #onReported: (() => void) | null = null

  async register(): Promise<WorkerTimes> {
    return { heartbeatEveryMs: 5_000 }
  }
  async deregister(): Promise<void> {}
  onCancel(): () => void {
    return () => {}
  }

  until(reported: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onReported = () => this.reported >= reported && resolve()
    })
  }

  async lease({ slots, prefetch }: LeaseRequest): Promise<LeaseAnswer> {
    await delay(roundTripMs)
    this.leases++
    this.leased += slots + prefetch
    const executions = Array.from({ length: slots + prefetch }, () => execution({ payload: { n: 1 } }))
    return { executions, serverTime: performance.timeOrigin + performance.now() }
  }

  async report(report: WorkerReport): Promise<ReportAnswer> {
    await delay(roundTripMs)
    this.reports++
    this.reported += report.outcomes.length
    this.#onReported?.()
    return {
      serverTime: performance.timeOrigin + performance.now(),
      outcomes: report.outcomes.map(() => 'ACCEPTED'),
      began: report.began.map(() => 'ACCEPTED'),
      cancellations: [],
      lost: [],
    }
  }
}

const transport = new EndlessTransport()
const noop = defineHandler<{ n: number }>({ name: 'test' })
const worker = new Worker({ transport, handlers: [implementHandler(noop, async () => {})] })
await worker.start()
await transport.until(warmUp)
const begin = performance.now()
const from = transport.reported
const cpu = process.cpuUsage()
const { reports, leases } = transport
await transport.until(from + measured)
const seconds = (performance.now() - begin) / 1_000
const done = transport.reported - from
const used = process.cpuUsage(cpu)
const cpuMicros = (used.user + used.system) / done
await worker.stop()
console.log(
  `${Math.round(done / seconds)} executions/s at ${roundTripMs} ms a round trip, ${cpuMicros.toFixed(1)} µs of CPU each, ` +
    `${Math.round(done / (transport.reports - reports))} a report, ${Math.round(done / (transport.leases - leases))} a lease`,
)
