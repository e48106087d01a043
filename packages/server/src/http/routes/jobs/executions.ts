import { api } from '@carillon/contract/api'
import { jobNotFound } from '../../../jobs/jobs.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { readKeptJob } from '../../../store/jobs/read.ts'
import { route } from '../../route.ts'
import { filterOf, pageOf, pageReply } from '../executions/page.ts'

export const listJobExecutions = route(api.listJobExecutions, async (request, { database, executions }) => {
  const { tenant } = request.caller
  const jobId = request.params.jobId.toLowerCase()
  const page = await executions.list(tenant, { ...filterOf(request.query), jobId }, pageOf(request.query))
  if (page.records.length > 0) return pageReply(page)
  if (!(await readKeptJob(database, tenant, jobId)) && !(await readLedgerJob(database, tenant, jobId))) {
    throw jobNotFound(jobId)
  }
  return pageReply(page)
})
