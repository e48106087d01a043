import { api } from '@carillon/contract/api'
import { route } from '../../route.ts'
import { longWork } from '../executions/long-work.ts'

export const backfillJob = route(api.backfillJob, (request, services) => {
  const { from, to, includeSkipped = false, concurrency = 10 } = request.body
  const jobId = request.params.jobId.toLowerCase()
  return longWork(api.backfillJob, request, services, () =>
    services.operations.backfill(request.caller, { jobId, from, to, includeSkipped, concurrency }),
  )
})
