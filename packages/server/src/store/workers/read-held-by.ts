import type { Database } from '../database.ts'

export interface HeldByWorker {
  executionId: string
  name: string | null
  handler: string
  pool: string
  attempt: number
  began: boolean
  /** Milliseconds. */
  leasedAt: number
}

/**
 * What a worker holds of a tenant, the newest lease first. Reads the leases of the worker and those with notes, which may be in
 * another worker's name, and the ledger for what they cover. Locks: none. Indexes: executions_pkey, lease_notes_pkey, jobs_by_id.
 */
export async function readHeldBy(
  database: Database,
  { workerId, tenant, limit }: { workerId: string; tenant: string; limit: number },
): Promise<HeldByWorker[]> {
  return database.query<HeldByWorker>(
    'read-held-by',
    `select h.id "executionId", coalesce(e.name, j.name) name, e.handler, carillon.pool_name(e.pool) pool, e.attempt + 1 attempt,
       coalesce(n.began, h.began) began, carillon.ms(h.leased_at) "leasedAt"
     from (
       select u.id, (l.lease_id << 10) + u.place - 1 fence, l.worker_id, l.leased_at, l.began, l.noted
       from carillon.leases l cross join lateral unnest(l.ids) with ordinality u(id, place)
       where (l.worker_id = $1 or l.noted) and u.id is not null) h
     left join lateral (
       select * from carillon.lease_notes x
       where x.execution_id = case when h.noted then h.id end and x.fence = h.fence offset 0) n on true
     cross join lateral (
       select * from carillon.executions x
       where x.execution_id = h.id and x.tenant = $2 and x.state is null and (x.fence is null or x.fence < h.fence) offset 0) e
     left join lateral (
       select y.name from carillon.jobs y where y.job_id = case when e.job_version is not null then e.job_id end offset 0) j on true
     where coalesce(n.worker_id, h.worker_id) = $1
     order by h.leased_at desc, h.id limit $3`,
    [workerId, tenant, limit],
  )
}
