import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { jsonOf } from '../../../executions/view.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { traceparentOf } from '../../traceparent.ts'
import { jobRoute } from './job-route.ts'

/** What overlap forbids is recorded as SKIPPED and refused: the caller must not take it for a run. */
export const triggerJob = jobRoute(api.triggerJob, (request, services, jobId) =>
  answerOnce(api.triggerJob, request, services, async (key) => {
    const { body, headers, caller } = request
    const payload = body?.payload === undefined ? null : encodeJson(body.payload, 'payload')
    const traceparent = body?.traceparent ?? traceparentOf(headers) ?? null
    const { once, textOf } = rendering(key, jsonOf)
    const asked = { payload, traceparent, actor: caller.actor, once }
    const { execution, verdict } = await services.jobs.trigger(caller.tenant, jobId, asked)
    if (verdict === 'SKIP') {
      throw new CarillonError('OVERLAP_FORBIDDEN', {
        message: `another execution of the job is unfinished; ${execution.executionId} is recorded as SKIPPED`,
        hint: 'Wait until it has ended, cancel it, or choose another overlap policy',
      })
    }
    return { status: 201, text: textOf(execution) }
  }),
)
