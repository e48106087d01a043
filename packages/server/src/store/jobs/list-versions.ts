/**
 * Every version of a job that is kept, newest first, a page at a time; of a deleted job too.
 * Locks: none. Indexes: jobs_pkey, job_versions_pkey.
 */
import type { Database } from '../database.ts'
import { definitionOf, type JobDefinition, type JobRow } from './definition.ts'

/** Times in milliseconds. */
export interface VersionRecord {
  definition: JobDefinition
  version: number
  /** Null: not recorded. */
  since: number | null
  /** Null: it holds now. */
  until: number | null
  changedBy: string | null
}

export interface VersionPiece {
  versions: VersionRecord[]
  /** The version to go on from; null: that was all. */
  next: number | null
}

interface Row extends Record<string, unknown> {
  job: JobRow & { defined_by: string | null }
  version: number
  since: number | null
  until: number | null
  /** An older one is kept. */
  older: boolean
}

/** What the payloads of a page may weigh together, but for the last one. */
const pageBytes = 8 * 1024 * 1024

/** `before`: smaller versions only. */
export async function listVersions(
  database: Database,
  { tenant, jobId, before, limit }: { tenant: string; jobId: string; before: number; limit: number },
): Promise<VersionPiece> {
  const rows = await database.query<Row>(
    'list-versions',
    `select job, version, carillon.ms(since) since, carillon.ms(replaced_at) until, older from (
       select v.job, v.version, v.replaced_at,
         coalesce(v.defined_at, case v.version when 1 then v.created_at end, lead(v.replaced_at) over newest) since,
         lead(v.version) over newest is not null older, coalesce(sum(octet_length(v.job ->> 'payload')) over before, 0) ahead
       from (
         select j.version, to_jsonb(j) job, j.defined_at, j.created_at, null::timestamptz replaced_at
         from carillon.jobs j where j.job_id = $1 and j.tenant = $2 and j.version < $3
         union all (
           select v.version, to_jsonb(v), v.defined_at, v.created_at, v.replaced_at
           from carillon.job_versions v where v.job_id = $1 and v.tenant = $2 and v.version < $3
           order by v.version desc limit $4)) v
       window newest as (order by v.version desc),
         before as (order by v.version desc rows between unbounded preceding and 1 preceding)
       order by v.version desc limit $4) p
     where ahead < $5 order by version desc`,
    [jobId, tenant, before, limit + 1, pageBytes],
  )
  const versions = rows.slice(0, limit)
  const last = versions.at(-1)
  return { versions: versions.map(recordOf), next: last?.older ? last.version : null }
}

function recordOf({ job, version, since, until }: Row): VersionRecord {
  return { definition: definitionOf(job), version, since, until, changedBy: job.defined_by }
}
