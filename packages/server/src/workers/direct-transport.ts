/** A worker inside a node: the same worker, the same desk, no network between them. */
import type { LeasedExecution, Transport } from '@carillon/sdk'
import type { Clock } from '../lib/clock.ts'
import type { Lease } from '../store/executions/lease.ts'
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
      const leases = await desk.lease(request, signal)
      return { executions: leases.map((row) => leased(row, request.pool)), serverTime: clock.now() }
    },
    report: (report) => desk.report(report),
    async deregister(workerId) {
      pulse.removeWorker(workerId)
      await desk.deregister(workerId)
    },
    onCancel: (workerId, listener) => desk.onCancel(workerId, listener),
  }
}

function leased(row: Lease, pool: string): LeasedExecution {
  return {
    executionId: row.executionId,
    jobId: row.jobId,
    tenant: row.tenant,
    pool,
    handler: row.handler,
    attempt: row.attempt,
    maxAttempts: row.policy.retryPolicy.maxAttempts,
    fence: row.fence,
    scheduledFor: row.scheduledFor,
    dueAt: row.dueAt,
    timeoutSec: row.policy.timeoutSec,
    deadlineAt: row.deadlineAt,
    heartbeatTimeoutSec: row.policy.heartbeatTimeoutSec,
    cancelGraceSec: row.policy.cancelGraceSec,
    announceStart: row.policy.delivery === 'AT_MOST_ONCE',
    payload: JSON.parse(row.payload),
    lastProgress: row.lastProgress === null ? null : JSON.parse(row.lastProgress),
    labels: row.labels,
    traceparent: row.traceparent,
    target: row.target,
  }
}
