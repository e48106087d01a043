import { CarillonError } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { isEnd } from '../../../domain/execution-state.ts'
import { versionMismatch } from '../../../jobs/jobs.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import { versionOf } from '../../if-match.ts'
import { noContent } from '../../route.ts'
import type { Services } from '../../services.ts'
import { jobRoute } from './job-route.ts'

export const deleteJob = jobRoute(api.deleteJob, async ({ query, headers, caller }, services, jobId) => {
  const { tenant, actor } = caller
  const { cancelRunning = false } = query
  const version = versionOf(headers)
  try {
    await services.jobs.remove(tenant, jobId, { actor, version, cancelRunning })
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'JOB_NOT_FOUND') throw error
    if (!(await removeFired(services, { tenant, jobId, actor, version, cancelRunning }))) throw error
  }
  return noContent
})

interface Removal {
  tenant: string
  jobId: string
  actor: string
  version: number | undefined
  cancelRunning: boolean
}

/** What is only in the ledger has nothing to come; what it still has to do is cancelled. False: it is not there either. */
async function removeFired({ database, executions }: Services, removal: Removal): Promise<boolean> {
  const { tenant, jobId, actor, version, cancelRunning } = removal
  const job = await readLedgerJob(database, tenant, jobId)
  if (!job) return false
  if (version !== undefined && version !== job.version) throw versionMismatch(job.version, version)
  const why = { reason: 'JOB_DELETED', actor }
  if (job.due !== null) {
    await executions.cancel(tenant, jobId, why)
    return true
  }
  const known = await executions.ofJob(tenant, jobId, 1_000)
  const unfinished = known.filter(({ state }) => !isEnd(state))
  if (unfinished.length === 0) {
    throw new CarillonError('STATE_CONFLICT', {
      message: 'the job has fired and ended',
      hint: 'Its history is kept for a limited time',
    })
  }
  for (const { executionId, state } of unfinished) {
    if (cancelRunning || state !== 'RUNNING') await executions.cancel(tenant, executionId, why)
  }
  return true
}
