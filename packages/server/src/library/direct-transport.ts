/** A worker inside a node: the same worker, the same desk, no network between them. */
import type { Transport } from '@carillon/sdk'
import type { Engine } from '../main.ts'

export function directTransport(engine: Engine): Transport {
  const { desk, pulse } = engine
  return {
    async register(worker) {
      await desk.register(worker)
      pulse.addWorker(worker.workerId)
    },
    lease: (request, signal) => desk.lease(request, signal),
    report: (report) => desk.report(report),
    async deregister(workerId) {
      pulse.removeWorker(workerId)
      await desk.deregister(workerId)
    },
    onCancel: (workerId, listener) => desk.onCancel(workerId, listener),
  }
}
