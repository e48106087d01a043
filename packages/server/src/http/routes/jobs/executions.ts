import { api } from '@carillon/contract/api'
import { jobNotFound } from '../../../jobs/reference.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { readKeptJob } from '../../../store/jobs/read.ts'
import { filterOf, pageOf, pageReply } from '../executions/page.ts'
import { jobRoute } from './job-route.ts'

export const listJobExecutions = jobRoute(api.listJobExecutions, async (request, { database, executions }, jobId) => {
  const { tenant } = request.caller
  const page = await executions.list(tenant, { ...filterOf(request.query), jobId }, pageOf(request.query))
  if (page.records.length > 0) return pageReply(page)
  if (!(await readKeptJob(database, tenant, jobId)) && !(await readLedgerJob(database, tenant, jobId))) {
    throw jobNotFound(jobId)
  }
  return pageReply(page)
})
