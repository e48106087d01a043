/** What a job of type AFTER names has to be there; it may still be deleted later. Jobs that would follow each other for ever are refused. */
import { CarillonError, type JobInput } from '@carillon/contract'
import { isId } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { readJob, readJobByKey } from '../store/jobs/read.ts'
import type { JobRecord } from '../store/rows.ts'

/** Jobs that will be there too: their keys, with the id or key of the job that each follows. */
export type ComingJobs = ReadonlyMap<string, string | null>

/** The job that follows, as far as it has an id or a key by now. */
export interface Follower {
  jobId?: string
  key?: string | null
  coming?: ComingJobs
}

/** Only this much of a chain is read. */
const longestChain = 100

export async function requireFollowed(
  database: Database,
  tenant: string,
  after: NonNullable<JobInput['after']>,
  follower: Follower,
): Promise<void> {
  const chain = [nameOf(follower)]
  let named = after.job
  for (let length = 0; length < longestChain; length++) {
    if (named === follower.jobId || named === follower.key) throw cycle([...chain, nameOf(follower)])
    const next = follower.coming?.get(named)
    if (next === null) return
    if (next !== undefined) {
      chain.push(named)
      named = next
      continue
    }
    const job = await findJob(database, tenant, named)
    if (job === null) {
      if (length > 0) return
      throw unknown(named)
    }
    const { jobId, key, type } = job.definition
    if (jobId === follower.jobId) throw cycle([...chain, nameOf(follower)])
    if (length === 0 && named === key && (type === 'ONE_SHOT' || type === 'DELAYED')) throw runsOnce(job)
    if (job.definition.after === null) return
    chain.push(key ?? jobId)
    named = job.definition.after.job
  }
}

/** By its id or key. */
export async function findJob(database: Database, tenant: string, named: string): Promise<JobRecord | null> {
  const byId = isId(named) ? await readJob(database, tenant, named.toLowerCase()) : null
  return byId ?? readJobByKey(database, tenant, named)
}

function nameOf({ jobId, key }: Follower): string {
  return key ?? jobId ?? 'the new job'
}

function unknown(named: string): CarillonError {
  return new CarillonError('AFTER_UNKNOWN', {
    pointer: '/after/job',
    message: `there is no job ${named}`,
    hint: 'Check its id or key, or create it first',
  })
}

function cycle(chain: string[]): CarillonError {
  return new CarillonError('AFTER_CYCLE', {
    pointer: '/after/job',
    message: `the jobs would follow each other for ever: ${chain.join(' after ')}`,
    hint: 'Let one of them follow another job, or none',
  })
}

/** Its key is free again once it has fired. */
function runsOnce({ definition }: JobRecord): CarillonError {
  return new CarillonError('VALIDATION', {
    pointer: '/after/job',
    message: `the job ${definition.key} runs once`,
    hint: `Name it by its id: ${definition.jobId}`,
  })
}
