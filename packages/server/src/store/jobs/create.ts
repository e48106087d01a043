import type { Database } from '../database.ts'
import type { JobRow } from '../rows.ts'

export interface NewJob {
  definition: JobRow
  nominal: number
  due: number
}

/** Creates jobs; answers the ids of those whose key was free. See functions/create_jobs.sql. */
export async function createJobs(database: Database, jobs: NewJob[]): Promise<Set<string>> {
  const rows = await database.query<{ create_jobs: string }>('create-jobs', 'select carillon.create_jobs($1)', [
    JSON.stringify(jobs.map((job) => ({ ...job.definition, nominal: job.nominal, due: job.due }))),
  ])
  return new Set(rows.map((row) => row.create_jobs))
}
