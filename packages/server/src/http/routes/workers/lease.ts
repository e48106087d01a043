/**
 * The long poll. A client that prefers minimal answers gets the text that LEASE made, which is not read here; for others the defaults
 * are filled in.
 */
import { api } from '@carillon/contract/api'
import { fullText } from '../../../store/executions/lease.ts'
import { route } from '../../route.ts'
import { ownerOf } from './owner.ts'

const defaultWaitMs = 20_000

export const leaseExecutions = route(
  api.leaseExecutions,
  async ({ params, headers, body, caller, signal }, services) => {
    const { workerSessions, clock, maxPollMs } = services
    const { pool, slots, prefetch = 0, waitMs = defaultWaitMs } = body
    const request = {
      workerId: params.workerId.toLowerCase(),
      pool,
      slots,
      prefetch,
      waitMs: Math.min(waitMs, maxPollMs),
    }
    const { executions, cancellations, closing } = await workerSessions.poll(request, ownerOf(caller), signal)
    const minimal = /\breturn=minimal\b/.test(headers.prefer ?? '')
    return {
      status: 200,
      text: `{"executions":[${minimal ? executions : fullText(executions)}],"cancellations":${JSON.stringify(cancellations)},"serverTime":${clock.now()}}`,
      ...(closing && { headers: { connection: 'close' } }),
    }
  },
)
