import { api } from '@carillon/contract/api'
import { longWork } from '../executions/long-work.ts'
import { jobRoute } from './job-route.ts'

export const backfillJob = jobRoute(api.backfillJob, (request, services, jobId) => {
  const { from, to, includeSkipped = false, concurrency = 10 } = request.body
  return longWork(api.backfillJob, request, services, () =>
    services.operations.backfill(request.caller, { jobId, from, to, includeSkipped, concurrency }),
  )
})
