import { api } from '@carillon/contract/api'
import { jsonOf } from '../../../executions/view.ts'
import { jobNotFound } from '../../../jobs/reference.ts'
import { jobJsonOf } from '../../../jobs/view.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { readKeptJob } from '../../../store/jobs/read.ts'
import { etagOf } from '../../if-match.ts'
import { jobRoute } from './job-route.ts'

const shown = 10

/** Also one that is DELETED, and one that is only in the ledger: the holder of an id wants to know what became of it. */
export const getJob = jobRoute(api.getJob, async ({ caller }, { database, executions }, jobId) => {
  const { tenant } = caller
  const job = (await readKeptJob(database, tenant, jobId)) ?? (await readLedgerJob(database, tenant, jobId))
  if (!job) throw jobNotFound(jobId)
  const latest = await executions.ofJob(tenant, jobId, shown)
  const text = jobJsonOf(job, latest[0] ?? null)
  const executionsText = latest.map(jsonOf).join(',')
  return { status: 200, text: `${text.slice(0, -1)},"executions":[${executionsText}]}`, headers: etagOf(job.version) }
})
