import { api, JobInput } from '@carillon/contract/api'
import { patched } from '../../../jobs/patch.ts'
import { versionOf } from '../../if-match.ts'
import { checker } from '../../validation.ts'
import { asItIsNow, changing } from './changed.ts'
import { jobRoute } from './job-route.ts'

const checkInput = checker(JobInput, 'body')

/** The patch is applied to the definition that is then replaced, whatever comes between. */
export const patchJob = jobRoute(api.patchJob, async ({ headers, body, caller }, { database, jobs }, jobId) => {
  const by = { actor: caller.actor, version: versionOf(headers) }
  const { job } = await changing(database, { tenant: caller.tenant, jobId }, () =>
    jobs.update(
      caller.tenant,
      jobId,
      ({ definition }) => {
        const requested = patched(definition, body)
        checkInput(requested.input)
        return requested
      },
      by,
    ),
  )
  return asItIsNow(database, job)
})
