/** A worker inside a node: the same worker, the same desk, no network between them. */
import type { Transport } from '@carillon/sdk'
import type { Clock } from '../lib/clock.ts'
import { leasedExecutions } from '../store/executions/lease.ts'
import type { WorkerDesk } from './worker-desk.ts'

export interface DirectTransportOptions {
  desk: WorkerDesk
  clock: Clock
  /** Says from a thread of its own that these live. */
  pulse: { addWorker(workerId: string): void; removeWorker(workerId: string): void }
}

export function directTransport({ desk, pulse, clock }: DirectTransportOptions): Transport {
  return {
    async register(worker) {
      await desk.register(worker)
      pulse.addWorker(worker.workerId)
      return { heartbeatEveryMs: desk.times.heartbeatEveryMs }
    },
    async lease(request, signal) {
      const executions = leasedExecutions(await desk.lease(request, signal))
      return { executions, serverTime: clock.now() }
    },
    report: (report) => desk.report(report),
    async deregister(workerId) {
      pulse.removeWorker(workerId)
      await desk.deregister(workerId)
    },
    onCancel: (workerId, listener) => desk.onCancel(workerId, listener),
  }
}
