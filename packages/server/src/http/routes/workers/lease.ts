/**
 * The long poll. The answer is put together as text, with payloads as they are stored: they are neither read nor written
 * again on their way to the worker.
 */
import { api } from '@carillon/contract/api'
import type { Lease } from '../../../store/executions/lease.ts'
import { route } from '../../route.ts'
import { ownerOf } from './owner.ts'

const defaultWaitMs = 20_000

export const leaseExecutions = route(api.leaseExecutions, async ({ params, body, caller, signal }, services) => {
  const { desk, clock, maxPollMs } = services
  const { pool, slots, prefetch = 0, waitMs = defaultWaitMs } = body
  const request = {
    workerId: params.workerId.toLowerCase(),
    pool,
    slots,
    prefetch,
    waitMs: Math.min(waitMs, maxPollMs),
  }
  const { leases, cancellations, closing } = await desk.poll(request, ownerOf(caller), signal)
  const poolText = JSON.stringify(pool)
  const executions = leases.map((lease) => leaseText(lease, poolText)).join(',')
  return {
    status: 200,
    text: `{"executions":[${executions}],"cancellations":${JSON.stringify(cancellations)},"serverTime":${clock.now()}}`,
    ...(closing && { headers: { connection: 'close' } }),
  }
})

function leaseText(row: Lease, pool: string): string {
  const { policy } = row
  return (
    `{"executionId":"${row.executionId}","jobId":"${row.jobId}","tenant":${JSON.stringify(row.tenant)},"pool":${pool},` +
    `"handler":${JSON.stringify(row.handler)},"attempt":${row.attempt},"maxAttempts":${policy.retryPolicy.maxAttempts},` +
    `"fence":${row.fence},"scheduledFor":${row.scheduledFor},"dueAt":${row.dueAt},"timeoutSec":${policy.timeoutSec},` +
    `"deadlineAt":${row.deadlineAt},"heartbeatTimeoutSec":${policy.heartbeatTimeoutSec},` +
    `"cancelGraceSec":${policy.cancelGraceSec},"announceStart":${policy.delivery === 'AT_MOST_ONCE'},` +
    `"payload":${row.payload},"lastProgress":${row.lastProgress},"labels":${JSON.stringify(row.labels)},` +
    `"traceparent":${JSON.stringify(row.traceparent)},"target":${JSON.stringify(row.target)}}`
  )
}
