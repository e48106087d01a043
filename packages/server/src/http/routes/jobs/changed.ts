/** What changes of a job have in common: how they are answered, and what is said about one that has fired. */
import { CarillonError } from '@carillon/contract'
import { jobJsonOf } from '../../../jobs/view.ts'
import type { Database } from '../../../store/database.ts'
import { readLatest } from '../../../store/jobs/latest.ts'
import { readLedgerJob } from '../../../store/jobs/ledger.ts'
import type { JobRecord } from '../../../store/rows.ts'
import { etagOf } from '../../if-match.ts'
import type { Reply } from '../../route.ts'

export async function asItIsNow(database: Database, job: JobRecord): Promise<Reply> {
  const { jobId } = job.definition
  const latest = (await readLatest(database, [jobId])).get(jobId) ?? null
  return { status: 200, text: jobJsonOf(job, latest), headers: etagOf(job.version) }
}

/** Makes a change. Of a job that is only in the ledger there is nothing to change any more, which is not "not found". */
export async function changing<T>(
  database: Database,
  { tenant, jobId }: { tenant: string; jobId: string },
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'JOB_NOT_FOUND') throw error
    if (!(await readLedgerJob(database, tenant, jobId))) throw error
    throw new CarillonError('STATE_CONFLICT', {
      message: 'the job has fired and will not fire again',
      hint: 'Cancel or retry its execution, which has the same id unless its time was changed',
    })
  }
}
