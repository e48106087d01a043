import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { nextFiresOf, previewFires } from '../../../jobs/preview.ts'
import { jobNotFound } from '../../../jobs/reference.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { readJob } from '../../../store/jobs/read.ts'
import { ok, route } from '../../route.ts'
import { jobRoute } from './job-route.ts'

export const nextFires = jobRoute(api.nextFires, async ({ query, caller }, { database, clock }, jobId) => {
  const { tenant } = caller
  const job = (await readJob(database, tenant, jobId)) ?? (await readLedgerJob(database, tenant, jobId))
  if (!job) throw jobNotFound(jobId)
  return ok({ state: job.state, ...nextFiresOf(job, clock.now(), query.count ?? 10) })
})

export const previewSchedule = route(api.previewSchedule, async ({ body }, { clock }) => {
  const { type, ...input } = body
  const wanted = ({ CRON: 'schedule', INTERVAL: 'interval', ONE_SHOT: 'runAt' } as const)[type]
  if (input[wanted] === undefined) {
    throw new CarillonError('VALIDATION', { pointer: `/${wanted}`, message: `${wanted} is required for type ${type}` })
  }
  const now = Math.floor(clock.now())
  return ok(
    previewFires({
      ...input,
      after: input.after ?? now,
      anchor: input.anchor ?? (type === 'INTERVAL' ? now : undefined),
    }),
  )
})
