import type { Database } from '../database.ts'
import { type FireDefinition, type FireRow, fireDefinitionOf } from './definition.ts'

/** What a job was defined as before, by version; those that are gone are left out. Index: job_versions_pkey. */
export async function readVersions(
  database: Database,
  jobId: string,
  versions: readonly number[],
): Promise<Map<number, FireDefinition>> {
  if (versions.length === 0) return new Map()
  const rows = await database.query<{ version: number; job: FireRow }>(
    'read-versions',
    'select v.version, to_jsonb(v) job from carillon.job_versions v where v.job_id = $1 and v.version = any ($2)',
    [jobId, versions],
  )
  return new Map(rows.map(({ version, job }) => [version, fireDefinitionOf(job)]))
}
