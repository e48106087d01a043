/** A worker inside a node: the same worker, the same desk, no network between them. */
import type { Transport } from '@carillon/sdk'
import type { Clock } from '../lib/clock.ts'
import type { WorkerLiveness } from '../liveness/port.ts'
import { exactlyLeased, leasedExecutions } from '../store/executions/lease.ts'
import type { WorkerDesk } from './worker-desk.ts'

export interface DirectTransportOptions {
  desk: WorkerDesk
  clock: Clock
  liveness: Pick<WorkerLiveness, 'attach' | 'detach'>
}

/** `exact`: for handlers that write payloads again, and must write numbers as they came. */
export function directTransport(
  { desk, liveness, clock }: DirectTransportOptions,
  { exact = false }: { exact?: boolean } = {},
): Transport {
  const executionsOf = exact ? exactlyLeased : leasedExecutions
  return {
    async register(worker) {
      await desk.register(worker)
      liveness.attach(worker.workerId)
      return { heartbeatEveryMs: desk.times.heartbeatEveryMs }
    },
    async lease(request, signal) {
      const executions = executionsOf(await desk.lease(request, signal))
      return { executions, serverTime: clock.now() }
    },
    report: (report) => desk.report(report),
    async deregister(workerId) {
      liveness.detach(workerId)
      await desk.deregister(workerId)
    },
    onCancel: (workerId, listener) => desk.onCancel(workerId, listener),
  }
}
