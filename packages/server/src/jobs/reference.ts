/**
 * Jobs as callers name them: by id or by key. What has the form of a uuid is an id first; only if there is no such job is it
 * looked for as a key. So lookups by id pay nothing for keys.
 */
import { CarillonError } from '@carillon/contract'
import type { Database } from '../store/database.ts'
import { readJobByKey } from '../store/jobs/read.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export interface JobReference {
  tenant: string
  /** An id or a key. */
  job: string
}

/** Does something with the job that is meant. `act` throws JOB_NOT_FOUND if there is none with the id it is given. */
export async function withJob<T>(
  database: Database,
  { tenant, job }: JobReference,
  act: (jobId: string) => Promise<T>,
): Promise<T> {
  if (!uuid.test(job)) {
    const jobId = await idOfKey(database, { tenant, job })
    if (jobId === null) throw jobNotFound(job)
    return act(jobId)
  }
  try {
    return await act(job.toLowerCase())
  } catch (error) {
    if (!(error instanceof CarillonError) || error.code !== 'JOB_NOT_FOUND') throw error
    const jobId = await idOfKey(database, { tenant, job })
    if (jobId === null) throw error
    return act(jobId)
  }
}

/** For filters, which find nothing where there is no such job. Null: no job has this key. */
export async function filteredJobId(database: Database, reference: JobReference): Promise<string | null> {
  return uuid.test(reference.job) ? reference.job.toLowerCase() : idOfKey(database, reference)
}

async function idOfKey(database: Database, { tenant, job }: JobReference): Promise<string | null> {
  return (await readJobByKey(database, tenant, job))?.definition.jobId ?? null
}

export function jobNotFound(job: string): CarillonError {
  return new CarillonError('JOB_NOT_FOUND', {
    message: `there is no job ${job}`,
    hint: 'Check its id or key and the tenant; it may have been deleted, or a one-shot that has fired',
  })
}
