import { api } from '@carillon/contract/api'
import { runJsonOf, runSummaryOf } from '../../../dags/view.ts'
import { labelOf } from '../../label-filter.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const listDagRuns = route(api.listDagRuns, async ({ query, caller }, { dags, dagRuns }) => {
  const { limit = 100, cursor, dagId: dag, state, label = [] } = query
  const { tenant } = caller
  const dagId = dag === undefined ? undefined : await dags.filteredId({ tenant, dag })
  if (dagId === null) return ok({ items: [], nextCursor: null })
  const filter = { dagId, state, labels: label.map(labelOf), ...timeRangeOf(query) }
  const { records, nextCursor } = await dagRuns.list(tenant, filter, { limit, cursor })
  return ok({ items: records.map(runSummaryOf), nextCursor })
})

export const getDagRun = route(api.getDagRun, async ({ params, caller }, { dagRuns }) => {
  const run = await dagRuns.read(caller.tenant, params.runId.toLowerCase())
  return { status: 200, text: runJsonOf(run, await dagRuns.readSteps(run)) }
})
