import { api } from '@carillon/contract/api'
import type { DagRunRecord } from '../../../dags/runs.ts'
import { startInlineRun, startRun } from '../../../dags/start-run.ts'
import { runSummaryOf } from '../../../dags/view.ts'
import { answerOnce, rendering } from '../../idempotency.ts'
import { route } from '../../route.ts'
import { traceparentOf } from '../../traceparent.ts'

const summaryText = (run: DagRunRecord) => JSON.stringify(runSummaryOf(run))

export const runDag = route(api.runDag, (request, services) =>
  answerOnce(api.runDag, request, services, async (key) => {
    await services.tenants.require(request.caller.tenant)
    const { params, body, headers, caller } = request
    const { once, textOf } = rendering(key, summaryText)
    const input = { ...body, traceparent: body.traceparent ?? traceparentOf(headers) }
    const start = () => startRun(services, caller, params.dagId, input, once)
    return { status: 201, text: textOf(await services.quotas.submit({ tenant: caller.tenant, count: 1 }, start)) }
  }),
)

export const runSteps = route(api.runSteps, (request, services) =>
  answerOnce(api.runSteps, request, services, async (key) => {
    await services.tenants.require(request.caller.tenant)
    const { body, headers, caller } = request
    const { once, textOf } = rendering(key, summaryText)
    const input = { ...body, traceparent: body.traceparent ?? traceparentOf(headers) }
    const start = () => startInlineRun(services, caller, input, once)
    return { status: 201, text: textOf(await services.quotas.submit({ tenant: caller.tenant, count: 1 }, start)) }
  }),
)
