import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { jobNotFound, withJob } from '../../../jobs/reference.ts'
import { readKeptJob } from '../../../store/jobs/read.ts'
import { readVerifiedHistory } from '../../../store/verification/history.ts'
import { defaultLateAfterMs } from '../../../verification/installation.ts'
import { verifyPart } from '../../../verification/report.ts'
import { ok, route } from '../../route.ts'
import { timeRangeOf } from '../../time-range.ts'

export const verify = route(api.verify, async ({ query, caller }, { database, clock, workerSessions }) => {
  const { job, cursor, lateAfterMs = defaultLateAfterMs, limit = 100 } = query
  const { tenant } = caller
  const kept = async (jobId: string) => {
    if (await readKeptJob(database, tenant, jobId)) return jobId
    throw jobNotFound(jobId)
  }
  const now = clock.now()
  const { from, to } = timeRangeOf(query)
  if (from! >= now) {
    throw new CarillonError('VALIDATION', {
      pointer: '/from',
      message: 'lies in the future: nothing has been due since then',
      hint: 'Begin at a time that has passed',
    })
  }
  const jobId = job === undefined ? null : await withJob(database, { tenant, job }, kept)
  const check = {
    tenant,
    jobId,
    from: from!,
    to: to ?? Math.floor(now),
    now,
    lateAfterMs,
    listed: limit,
    lostMs: workerSessions.times.lostAfterMs,
  }
  return ok(await verifyPart(database, check, cursor ?? null))
})

const nothing = { occurrences: 0, missed: 0, doubled: 0, stuck: 0, wrong: 0, lost: 0, late: 0 }

export const getVerified = route(api.getVerified, async (_, { database }) =>
  ok((await readVerifiedHistory(database)) ?? { since: null, until: null, stuckNow: 0, total: nothing, hours: [] }),
)
