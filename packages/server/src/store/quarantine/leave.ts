/** The ways out of quarantine. See functions/quarantine/quarantine.sql. */
import type { Database } from '../database.ts'

/** KEPT: a row with its key is there already. RESUME: it is a schedule, and its job has to be resumed. */
export type ReleaseVerdict = 'RELEASED' | 'MISSING' | 'KEPT' | 'RESUME'

export async function release(database: Database, quarantineId: number, actor: string): Promise<ReleaseVerdict> {
  const sql = 'select carillon.release_quarantined($1, $2, $3) verdict'
  const rows = await database.query<{ verdict: ReleaseVerdict }>('release-quarantined', sql, [
    quarantineId,
    actor,
    database.now,
  ])
  return rows[0]!.verdict
}

/** Answers the execution that ended by it. */
export async function discard(
  database: Database,
  quarantineId: number,
  actor: string,
): Promise<{ verdict: 'DISCARDED' | 'MISSING'; ended: string | null }> {
  const rows = await database.query<{ verdict: 'DISCARDED' | 'MISSING'; ended: string | null }>(
    'discard-quarantined',
    'select verdict, ended from carillon.discard_quarantined($1, $2, $3)',
    [quarantineId, actor, database.now],
  )
  return rows[0]!
}

/** The entry of a schedule whose job was resumed. */
export async function leave(database: Database, quarantineId: number, actor: string): Promise<void> {
  await database.query(
    'leave-quarantine',
    `select carillon.leave_quarantine(array[$1::bigint], $2, 'quarantine.released', $3)`,
    [quarantineId, actor, database.now],
  )
}

/** Entries of schedules whose jobs were resumed, changed or deleted since. */
export async function leaveResumed(database: Database): Promise<void> {
  await database.query(
    'leave-resumed',
    `select carillon.leave_quarantine(array(
       select q.quarantine_id from carillon.quarantine q join carillon.jobs j on j.job_id = q.job_id
       where q.source = 'schedules' and q.content is null and j.state <> 'PAUSED'
         and (j.state <> 'ACTIVE' or exists (select from carillon.schedules s where s.job_id = j.job_id and s.due is not null))), 'carillon', 'quarantine.released', $1)
     where exists (select from carillon.quarantine q where q.source = 'schedules' and q.content is null)`,
    [database.now],
  )
}
