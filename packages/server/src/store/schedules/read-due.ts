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
 * Schedules of these shards that are due in a window, earliest first. Indexes: schedules_due, of which one run of leaves
 * is read, and jobs_by_id. The shard is checked inside the index from PostgreSQL 17 on; before, a due row of a shard that
 * another node leads is fetched to be passed over.
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

/** All a fire is planned from; what only the worker needs stays where it is. */
const planned = `job_id, tenant, name, type, run_at, delay_ms, cron, "interval", timezone, dst_gap, dst_overlap, anchor, start_at,
  end_at, max_fires, jitter_sec, misfire, misfire_after_sec, max_catch_up, grace_sec, start_within_sec, deadline_sec, overlap,
  pool, lane, handler, key, managed_by`

/**
 * The `offset 0` keeps the job a look-up by key for each row, whatever the planner thinks of the number of rows. Text
 * JSON of named columns: [m] 1,000 rows in 13 ms; `to_jsonb` of the whole row took 27.
 */
export const readDueSchedulesSql = `
  select s.job_id, s.shard, s.version, carillon.ms(s.nominal) nominal, carillon.ms(s.due) due, s.fires, j.job
  from carillon.schedules s
  cross join lateral (select row_to_json(d) job from (
    select ${planned} from carillon.jobs where job_id = s.job_id and version = s.version offset 0) d) j
  where s.due >= carillon.at($2) and s.due <= carillon.at($3) and s.shard = any ($1::smallint[])
  order by s.due limit $4`
