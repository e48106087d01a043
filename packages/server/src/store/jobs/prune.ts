/** Removals in small batches, each its own transaction. All answer how many rows went. */
import type { Database } from '../database.ts'

async function removed(database: Database, text: string, values: unknown[]): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with gone as (${text} returning 1) select count(*) n from gone`,
    values,
  )
  return rows[0]!.n
}

/** Versions replaced before `before`. */
export function pruneVersions(database: Database, before: number, limit: number): Promise<number> {
  return removed(
    database,
    `delete from carillon.job_versions where ctid in (
       select ctid from carillon.job_versions where replaced_at < carillon.at($1) limit $2)`,
    [before, limit],
  )
}

/**
 * Spans that ended before `before`, but for the last of each job: it says where the schedule went on. Index: their primary key,
 * for those that came after.
 */
export function pruneSpans(database: Database, before: number, limit: number): Promise<number> {
  return removed(
    database,
    `delete from carillon.job_spans where ctid in (
       select p.ctid from carillon.job_spans p
       where p.until < carillon.at($1)
         and (not exists (select from carillon.jobs j where j.job_id = p.job_id)
           or exists (select from carillon.job_spans q
                      where q.job_id = p.job_id and q.span_id > p.span_id and q.until < carillon.at($1)))
       limit $2)`,
    [before, limit],
  )
}

/** Jobs deleted before `before`, with their schedules. Locks: schedules by id (SKIP LOCKED), jobs. */
export async function pruneJobs(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.query<{ n: number }>(
    null,
    `with old as (
       select s.job_id from carillon.schedules s join carillon.jobs j on j.job_id = s.job_id
       where j.state = 'DELETED' and j.updated_at < carillon.at($1)
       order by s.job_id limit $2 for update of s skip locked
     ), schedules as (
       delete from carillon.schedules s using old where s.job_id = old.job_id
     ), jobs as (
       delete from carillon.jobs j using old where j.job_id = old.job_id returning 1)
     select count(*) n from jobs`,
    [before, limit],
  )
  return rows[0]!.n
}

/** Flows that are not ahead of their lane. */
export function pruneFlows(database: Database, limit: number): Promise<number> {
  return removed(
    database,
    `delete from carillon.flows where ctid in (
       select f.ctid from carillon.flows f join carillon.lanes l on l.pool = f.pool and l.lane = f.lane
       where f.finish <= l.virtual_time limit $1 for update of f skip locked)`,
    [limit],
  )
}
