import type { Database } from '../database.ts'
import { type FireDefinition, type FireRow, fireDefinitionOf, type JobDefinition } from '../jobs/definition.ts'

type Place = Pick<JobDefinition, 'pool' | 'lane' | 'handler'>

/** A schedule row that is due soon, with what is needed to plan its fire. */
export interface DueSchedule {
  jobId: string
  shard: number
  version: number
  nominal: number
  due: number
  fires: number
  job: FireDefinition & Place
}

export interface DueWindow {
  shards: number[]
  /** Read from this due time on; below it everything is known or gone. */
  from: number
  until: number
  limit: number
}

const keySql = {
  schedules: `select s.job_id id from carillon.schedules s where s.due >= carillon.at($2) and s.due <= carillon.at($3)
    and s.shard = any ($1) order by s.due limit $4`,
  retries: `select t.execution_id id from carillon.retries t where t.due >= carillon.at($2) and t.due <= carillon.at($3)
    and t.shard = any ($1) order by t.due limit $4`,
  submissions: `select u.execution_id id from carillon.submissions u where u.run_at >= carillon.at($2)
    and u.run_at <= carillon.at($3) and u.shard = any ($1) order by u.run_at limit $4`,
}

/** Only their ids, which can always be read. Indexes: schedules_due, retries_due, submissions_due. */
export async function readDueKeys(
  database: Database,
  source: keyof typeof keySql,
  window: DueWindow,
): Promise<string[]> {
  const { shards, from, until, limit } = window
  const rows = await database.query<{ id: string }>(null, keySql[source], [shards, from, until, limit])
  return rows.map(({ id }) => id)
}

/** What identifies the next occurrence of a job, and how often it has fired. */
export type DueHead = Pick<DueSchedule, 'jobId' | 'shard' | 'version' | 'nominal' | 'due' | 'fires'>

/** As `readDueSchedules`, without the definitions: the jobs are not read. Index: schedules_due. */
export async function readDueHeads(database: Database, window: DueWindow): Promise<DueHead[]> {
  const { shards, from, until, limit } = window
  return database.query<DueHead>(
    null,
    `select s.job_id "jobId", s.shard, s.version, carillon.ms(s.nominal) nominal, carillon.ms(s.due) due, s.fires
     from carillon.schedules s where s.due >= carillon.at($2) and s.due <= carillon.at($3) and s.shard = any ($1)
     order by s.due limit $4`,
    [shards, from, until, limit],
  )
}

/** Schedules of these shards that are due in a window, earliest first; of `only` if given. See functions/firing/read_due.sql. */
export async function readDueSchedules(database: Database, window: DueWindow, only?: string[]): Promise<DueSchedule[]> {
  const rows = await database.query<ScheduleRow>(
    'read-due-schedules',
    'select * from carillon.read_due_schedules($1, $2, $3, $4, $5)',
    [window.shards, window.from, window.until, window.limit, only ?? null],
  )
  return rows.map(scheduleOf)
}

/** The schedule of each of these jobs as it is now; null: nothing of it is to come. See functions/firing/read_due.sql. */
export async function readSchedules(
  database: Database,
  jobIds: string[],
): Promise<{ jobId: string; shard: number; schedule: DueSchedule | null }[]> {
  const rows = await database.query<Omit<ScheduleRow, 'due'> & { due: number | null }>(
    'read-schedules',
    'select * from carillon.read_schedules($1)',
    [jobIds],
  )
  return rows.map((row) => ({
    jobId: row.job_id,
    shard: row.shard,
    schedule: row.due === null ? null : scheduleOf({ ...row, due: row.due }),
  }))
}

interface ScheduleRow {
  job_id: string
  shard: number
  version: number
  nominal: number
  due: number
  fires: number
  job: FireRow & Place
}

function scheduleOf(row: ScheduleRow): DueSchedule {
  return {
    jobId: row.job_id,
    shard: row.shard,
    version: row.version,
    nominal: row.nominal,
    due: row.due,
    fires: row.fires,
    job: { ...fireDefinitionOf(row.job), pool: row.job.pool, lane: row.job.lane, handler: row.job.handler },
  }
}
