import { api } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { jobJsonOf } from '../../../jobs/view.ts'
import type { Created } from '../../../submissions/submissions.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { etagOf } from '../../if-match.ts'
import { route } from '../../route.ts'
import { traceparentOf } from '../../traceparent.ts'

/** 201: it is new. 200: the job with this key, or the holder of the dedupe key, was there already. */
export const createJob = route(api.createJob, (request, services) =>
  answerOnce(api.createJob, request, services, async (key) => {
    await services.tenants.require(request.caller.tenant)
    const { payload, ...rest } = request.body
    const input = { ...rest, traceparent: rest.traceparent ?? traceparentOf(request.headers) }
    const text = payload === undefined ? null : encodeJson(payload, 'payload')
    const { once, textOf } = rendering(key, textOfCreated)
    const made = await services.submissions.create(request.caller, input, text, once)
    return { status: made.what === 'CREATED' ? 201 : 200, text: textOf(made), headers: etagOf(made.job.version) }
  }),
)

function textOfCreated({ job, latest, dedupe }: Created): string {
  return jobJsonOf(job, latest, dedupe && { dedupe })
}
