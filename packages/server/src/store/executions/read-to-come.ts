import type { Database } from '../database.ts'

/** A one-shot that has not fired: a job, or enqueued in a caller's own transaction. Its execution will have its id. */
export interface ToCome {
  due: number
  paused: boolean
  pool: string
  handler: string
}

/** Indexes: jobs_by_id, schedules_pkey, submissions_pkey, dedupe_requests_pkey. */
export async function readToCome(database: Database, tenant: string, id: string): Promise<ToCome | null> {
  const rows = await database.query<ToCome>(
    'read-to-come',
    `select carillon.ms(coalesce(s.due, s.nominal)) due, j.state = 'PAUSED' paused, j.pool, j.handler
     from carillon.jobs j join carillon.schedules s on s.job_id = j.job_id
     where j.job_id = $1 and j.tenant = $2 and j.type in ('ONE_SHOT', 'DELAYED') and s.nominal is not null
       and j.state in ('ACTIVE', 'PAUSED')
     union all
     select carillon.ms(u.run_at), false, u.pool, u.handler from carillon.submissions u
     where u.execution_id = $1 and u.tenant = $2
     union all
     select carillon.ms(q.run_at), false, q.pool, q.handler from carillon.dedupe_requests q
     where q.request_id = $1 and q.tenant = $2 and q.settled_at is null`,
    [id, tenant],
  )
  return rows[0] ?? null
}
