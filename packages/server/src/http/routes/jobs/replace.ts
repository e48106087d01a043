import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { encodeJson } from '@carillon/sdk'
import { versionOf } from '../../if-match.ts'
import { route } from '../../route.ts'
import { asItIsNow, changing } from './changed.ts'

export const replaceJob = route(api.replaceJob, async ({ params, headers, body, caller }, { database, jobs }) => {
  const { payload, dedupe, ...input } = body
  if (dedupe !== undefined) {
    throw new CarillonError('VALIDATION', {
      pointer: '/dedupe',
      message: 'belongs to a submission',
      hint: 'Leave it out',
    })
  }
  const wish = { input, payload: payload === undefined ? null : encodeJson(payload, 'payload') }
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { job } = await changing(database, { tenant: caller.tenant, jobId: params.jobId }, () =>
    jobs.update(caller.tenant, params.jobId, () => wish, by),
  )
  return asItIsNow(database, job)
})
