import { api } from '@carillon/contract/api'
import { versionOf } from '../../if-match.ts'
import { asItIsNow, changing } from './changed.ts'
import { jobRoute } from './job-route.ts'

export const pauseJob = jobRoute(api.pauseJob, async ({ headers, caller }, { database, jobs }, jobId) => {
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { tenant } = caller
  return asItIsNow(database, await changing(database, { tenant, jobId }, () => jobs.pause(tenant, jobId, by)))
})

export const resumeJob = jobRoute(api.resumeJob, async ({ headers, caller }, { database, jobs }, jobId) => {
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { tenant } = caller
  return asItIsNow(database, await changing(database, { tenant, jobId }, () => jobs.resume(tenant, jobId, by)))
})
