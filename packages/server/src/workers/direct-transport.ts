/** A worker inside a node: the same worker, the same sessions, no network between them. */
import type { Transport } from '@carillon/sdk'
import type { Clock } from '../lib/clock.ts'
import type { WorkerLiveness } from '../liveness/port.ts'
import { exactlyLeased, leasedExecutions } from '../store/executions/lease.ts'
import type { WorkerSessions } from './worker-sessions.ts'

export interface DirectTransportOptions {
  workerSessions: WorkerSessions
  clock: Clock
  liveness: Pick<WorkerLiveness, 'attach' | 'detach'>
}

/** `exact`: for handlers that write payloads again, and must write numbers as they came. */
export function directTransport(
  { workerSessions, liveness, clock }: DirectTransportOptions,
  { exact = false }: { exact?: boolean } = {},
): Transport {
  const executionsOf = exact ? exactlyLeased : leasedExecutions
  return {
    async register(worker) {
      await workerSessions.register(worker)
      liveness.attach(worker.workerId)
      return workerSessions.times
    },
    async lease(request, signal) {
      const executions = executionsOf(await workerSessions.lease(request, signal))
      return { executions, serverTime: clock.now() }
    },
    report: (report) => workerSessions.report(report),
    async deregister(workerId) {
      liveness.detach(workerId)
      await workerSessions.deregister(workerId)
    },
    onCancel: (workerId, listener) => workerSessions.onCancel(workerId, listener),
  }
}
