import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { jobNotFound } from '../../../jobs/jobs.ts'
import { readKeptJob } from '../../../store/jobs/read.ts'
import { defaultLateAfterMs } from '../../../verification/installation.ts'
import { verifyPart } from '../../../verification/report.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const verify = route(api.verify, async ({ query, caller }, { database, clock, desk }) => {
  const { job, cursor, lateAfterMs = defaultLateAfterMs, limit = 100 } = query
  const { tenant } = caller
  const now = clock.now()
  const { from, to } = timeRangeOf(query)
  if (from! >= now) {
    throw new CarillonError('VALIDATION', {
      pointer: '/from',
      message: 'lies in the future: nothing has been due since then',
      hint: 'Begin at a time that has passed',
    })
  }
  const jobId = job?.toLowerCase() ?? null
  if (jobId !== null && !(await readKeptJob(database, tenant, jobId))) throw jobNotFound(jobId)
  const check = {
    tenant,
    jobId,
    from: from!,
    to: to ?? Math.floor(now),
    now,
    lateAfterMs,
    listed: limit,
    lostMs: desk.times.lostAfterMs,
  }
  return ok(await verifyPart(database, check, cursor ?? null))
})
