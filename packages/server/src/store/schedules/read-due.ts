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

/** Schedules of these shards that are due in a window, earliest first. See functions/read_due.sql. */
export async function readDueSchedules(database: Database, window: DueWindow): Promise<DueSchedule[]> {
  const rows = await database.query<{
    job_id: string
    shard: number
    version: number
    nominal: number
    due: number
    fires: number
    job: JobRow
  }>('read-due-schedules', 'select * from carillon.read_due_schedules($1, $2, $3, $4)', [
    window.shards,
    window.from,
    window.until,
    window.limit,
  ])
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
