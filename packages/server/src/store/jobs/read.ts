import type { JobState } from '@carillon/contract'
import type { Database } from '../database.ts'
import type { JobRecord } from '../rows.ts'
import { definitionOf, type JobRow } from './definition.ts'

/** What `selectJob` answers. */
export interface JobColumns {
  job: JobRow & { version: number; state: JobState; created_at: string; updated_at: string }
  shard: number
  nominal: number | null
  due: number | null
  fires: number
}

const selectJob = `
  select to_jsonb(j) job, s.shard, carillon.ms(s.nominal) nominal, carillon.ms(s.due) due, s.fires
  from carillon.jobs j join carillon.schedules s on s.job_id = j.job_id`

export async function readJob(database: Database, tenant: string, jobId: string): Promise<JobRecord | null> {
  const rows = await database.query<JobColumns>(
    'read-job',
    `${selectJob} where j.job_id = $1 and j.tenant = $2 and j.state <> 'DELETED'`,
    [jobId, tenant],
  )
  return rows[0] ? recordOf(rows[0]) : null
}

/** Also one that is DELETED: it is kept while its history lives. */
export async function readKeptJob(database: Database, tenant: string, jobId: string): Promise<JobRecord | null> {
  const rows = await database.query<JobColumns>('read-kept-job', `${selectJob} where j.job_id = $1 and j.tenant = $2`, [
    jobId,
    tenant,
  ])
  return rows[0] ? recordOf(rows[0]) : null
}

export async function readJobByKey(database: Database, tenant: string, key: string): Promise<JobRecord | null> {
  const rows = await database.query<JobColumns>(
    'read-job-by-key',
    `${selectJob} where j.tenant = $1 and j.key = $2 and j.state <> 'DELETED'`,
    [tenant, key],
  )
  return rows[0] ? recordOf(rows[0]) : null
}

/** Every job that has a wall clock in it and something to come, in pages by id: also one-shots at a local time. */
export async function readJobsAfter(database: Database, afterId: string, limit: number): Promise<JobRecord[]> {
  const rows = await database.query<JobColumns>(
    'read-jobs-after',
    `${selectJob} where j.job_id > $1 and (j.type in ('CRON', 'INTERVAL') or j.run_local is not null)
       and s.due is not null order by j.job_id limit $2`,
    [afterId, limit],
  )
  return rows.map(recordOf)
}

export function recordOf(row: JobColumns): JobRecord {
  return {
    definition: definitionOf(row.job),
    version: row.job.version,
    state: row.job.state,
    shard: row.shard,
    nominal: row.nominal,
    due: row.due,
    fires: row.fires,
    createdAt: Date.parse(row.job.created_at),
    updatedAt: Date.parse(row.job.updated_at),
  }
}
