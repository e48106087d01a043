import { api } from '@carillon/contract/api'
import { jsonOf } from '../../../executions/view.ts'
import { ok, route } from '../../route.ts'

export const getExecution = route(api.getExecution, async (request, services) => {
  const { params, query, caller } = request
  const { executions, maxPollMs } = services
  const id = params.executionId.toLowerCase()
  const waitMs = Math.min((query.waitSec ?? 0) * 1_000, maxPollMs)
  const record =
    waitMs > 0
      ? await executions.readEnded(caller.tenant, id, { waitMs, gone: request.signal })
      : await executions.read(caller.tenant, id)
  return { status: 200, text: jsonOf(record) }
})

export const explainExecution = route(api.explainExecution, async ({ params, caller }, { explainer }) =>
  ok(await explainer.explain(caller.tenant, params.executionId.toLowerCase())),
)
