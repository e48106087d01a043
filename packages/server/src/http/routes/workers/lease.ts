/**
 * The long poll. The executions are passed on as the text that LEASE made of them: nothing of it is read here.
 */
import { api } from '@carillon/contract/api'
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
  const { executions, cancellations, closing } = await desk.poll(request, ownerOf(caller), signal)
  return {
    status: 200,
    text: `{"executions":[${executions}],"cancellations":${JSON.stringify(cancellations)},"serverTime":${clock.now()}}`,
    ...(closing && { headers: { connection: 'close' } }),
  }
})
