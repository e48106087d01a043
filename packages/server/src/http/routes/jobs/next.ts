import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { jobNotFound } from '../../../jobs/jobs.ts'
import { nextFiresOf, previewFires } from '../../../jobs/preview.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { readJob } from '../../../store/jobs/read.ts'
import { ok, route } from '../../route.ts'

export const nextFires = route(api.nextFires, async ({ params, query, caller }, { database, clock }) => {
  const { tenant } = caller
  const { jobId } = params
  const job = (await readJob(database, tenant, jobId)) ?? (await readLedgerJob(database, tenant, jobId))
  if (!job) throw jobNotFound(jobId)
  return ok({ state: job.state, ...nextFiresOf(job, clock.now(), query.count ?? 10) })
})

export const previewSchedule = route(api.previewSchedule, async ({ body }, { clock }) => {
  const { type, ...input } = body
  const wanted = type === 'CRON' ? 'schedule' : 'interval'
  if (input[wanted] === undefined) {
    throw new CarillonError('VALIDATION', { pointer: `/${wanted}`, message: `is required for type ${type}` })
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
