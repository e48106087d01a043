import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { versionOf } from '../../if-match.ts'
import { asItIsNow, changing } from './changed.ts'
import { jobRoute } from './job-route.ts'

export const replaceJob = jobRoute(api.replaceJob, async ({ headers, body, caller }, { database, jobs }, jobId) => {
  const { payload, dedupe, ...input } = body
  if (dedupe !== undefined) {
    throw new CarillonError('VALIDATION', {
      pointer: '/dedupe',
      message: 'dedupe belongs to a submission',
      hint: 'Leave it out',
    })
  }
  const requested = { input, payload: payload === undefined ? null : encodeJson(payload, 'payload') }
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { job } = await changing(database, { tenant: caller.tenant, jobId }, () =>
    jobs.update(caller.tenant, jobId, () => requested, by),
  )
  return asItIsNow(database, job)
})
