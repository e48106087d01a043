import type { Database } from '../database.ts'
import type { JobRow } from '../rows.ts'

/** A schedule row that is due soon, with what is needed to plan its fire. */
export interface DueSchedule {
  jobId: string
  shard: number
  version: number
  nominal: number
  due: number
  fires: number
  job: JobRow
}

export interface DueWindow {
  shards: number[]
  /** Read from this due time on; below it everything is known or gone. */
  from: number
  until: number
  limit: number
}

/**
 * Schedules of these shards that are due in a window, earliest first. Index: schedules_due, of which one run of leaves
 * is read; the shard is checked inside the index.
 */
export async function readDueSchedules(database: Database, window: DueWindow): Promise<DueSchedule[]> {
  const rows = await database.query<{
    job_id: string
    shard: number
    version: number
    nominal: number
    due: number
    fires: number
    job: JobRow
  }>('read-due-schedules', readDueSchedulesSql, [window.shards, window.from, window.until, window.limit])
  return rows.map((row) => ({
    jobId: row.job_id,
    shard: row.shard,
    version: row.version,
    nominal: row.nominal,
    due: row.due,
    fires: row.fires,
    job: row.job,
  }))
}

export const readDueSchedulesSql = `
  select s.job_id, s.shard, s.version, carillon.ms(s.nominal) nominal, carillon.ms(s.due) due, s.fires,
    to_jsonb(j) - '{payload,policy,labels}'::text[] job
  from carillon.schedules s join carillon.jobs j on j.job_id = s.job_id and j.version = s.version
  where s.due >= carillon.at($2) and s.due <= carillon.at($3) and s.shard = any ($1::smallint[])
  order by s.due limit $4`
