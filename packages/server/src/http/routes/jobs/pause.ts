import { api } from '@carillon/contract/api'
import { versionOf } from '../../if-match.ts'
import { route } from '../../route.ts'
import { asItIsNow, changing } from './changed.ts'

export const pauseJob = route(api.pauseJob, async ({ params: { jobId }, headers, caller }, { database, jobs }) => {
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { tenant } = caller
  return asItIsNow(database, await changing(database, { tenant, jobId }, () => jobs.pause(tenant, jobId, by)))
})

export const resumeJob = route(api.resumeJob, async ({ params: { jobId }, headers, caller }, { database, jobs }) => {
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { tenant } = caller
  return asItIsNow(database, await changing(database, { tenant, jobId }, () => jobs.resume(tenant, jobId, by)))
})
