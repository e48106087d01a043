/** Routes about one job, which the path names by id or by key. */
import type { ApiOperation } from '@carillon/contract/api'
import { withJob } from '../../../jobs/reference.ts'
import { type BodyOf, type Reply, type Route, type RouteRequest, route } from '../../route.ts'
import type { Services } from '../../services.ts'

export function jobRoute<O extends ApiOperation>(
  operation: O,
  answer: (request: RouteRequest<O>, services: Services, jobId: string) => Promise<Reply<BodyOf<O>>>,
): Route<O> {
  return route(operation, (request, services) => {
    const job = (request.params as { jobId: string }).jobId
    return withJob(services.database, { tenant: request.caller.tenant, job }, (jobId) =>
      answer(request, services, jobId),
    )
  })
}
