import { api } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { runSummaryOf } from '../../../dags/view.ts'
import { ok, route } from '../../route.ts'

export const cancelDagRun = route(api.cancelDagRun, async ({ params, caller }, { dagRuns }) =>
  ok(runSummaryOf(await dagRuns.cancel(caller.tenant, params.runId.toLowerCase(), caller.actor))),
)

export const pauseDagRun = route(api.pauseDagRun, async ({ params, caller }, { dagRuns }) =>
  ok(runSummaryOf(await dagRuns.pause(caller.tenant, params.runId.toLowerCase(), caller.actor))),
)

export const resumeDagRun = route(api.resumeDagRun, async ({ params, caller }, { dagRuns }) =>
  ok(runSummaryOf(await dagRuns.resume(caller.tenant, params.runId.toLowerCase(), caller.actor))),
)

export const retryDagRun = route(api.retryDagRun, async ({ params, caller }, { dagRuns }) =>
  ok(runSummaryOf(await dagRuns.retry(caller.tenant, params.runId.toLowerCase(), caller.actor))),
)

export const signalStep = route(api.signalStep, async ({ params, body, caller }, { dagRuns }) => {
  const { runId, step } = params
  const result = body.payload === undefined ? null : encodeJson(body.payload, 'result')
  return ok(runSummaryOf(await dagRuns.signal(caller, { runId: runId.toLowerCase(), step, result })))
})
