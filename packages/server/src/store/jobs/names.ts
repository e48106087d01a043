import { uuids } from '../arrays.ts'
import type { Database } from '../database.ts'

/** Names and keys of a tenant's jobs, by id; those that are gone are left out. By the primary key. */
export async function readJobNames(
  database: Database,
  tenant: string,
  jobIds: string[],
): Promise<Map<string, { name: string; key: string | null }>> {
  const rows = await database.query<{ job_id: string; name: string; key: string | null }>(
    'read-job-names',
    `select j.job_id, j.name, j.key from carillon.jobs j where j.job_id = any ($2::uuid[]) and j.tenant = $1`,
    [tenant, uuids(jobIds)],
  )
  return new Map(rows.map(({ job_id: jobId, name, key }) => [jobId, { name, key }]))
}
