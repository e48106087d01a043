import type { PoolRegistration, Timed, WorkerRecord } from '@carillon/contract'
import type { Database } from '../database.ts'

/** Times in milliseconds. */
export type ListedWorker = Timed<Omit<WorkerRecord, 'state'>, 'registeredAt' | 'seenAt', number> & { live: boolean }

export interface WorkerFilter {
  /** A tenant sees the workers of pools it may use, and of them only these pools. Null: everything. */
  viewer: string | null
  silentMs: number
  pool: string | null
  live: boolean | null
  /** The only one. */
  workerId?: string
  after: string
  limit: number
}

/** By id. Index: workers_pkey; reads all leases once. */
export async function readWorkers(database: Database, filter: WorkerFilter): Promise<ListedWorker[]> {
  const rows = await database.query<{
    worker_id: string
    node_id: string
    tenant: string | null
    name: string
    pools: PoolRegistration[]
    running: number
    live: boolean
    registered_at: number
    seen_at: number
  }>(
    'read-workers',
    `with page as (
       select w.*, w.seen_at >= coalesce($3, clock_timestamp()) - $2 * interval '1 millisecond' live, shown.pools shown
       from carillon.workers w cross join lateral (
         select jsonb_agg(p.announced || jsonb_build_object('pool', o.name) order by p.at) pools
         from jsonb_array_elements(w.pools) with ordinality p(announced, at)
         join carillon.pools o on o.pool = p.announced ->> 'pool'
         where $1::text is null or o.tenant is null or o.tenant = $1) shown
       where w.worker_id > $6::uuid and ($8::uuid is null or w.worker_id = $8) and ($1 is null or w.tenant is null or w.tenant = $1) and shown.pools is not null
         and ($4::text is null or shown.pools @> jsonb_build_array(jsonb_build_object('pool', $4)))
         and ($5::boolean is null
           or $5 = (w.seen_at >= coalesce($3, clock_timestamp()) - $2 * interval '1 millisecond'))
       order by w.worker_id limit $7)
     select p.worker_id, p.node_id, p.tenant, p.name, p.shown pools, coalesce(r.running, 0) running, p.live,
       carillon.ms(p.registered_at) registered_at, carillon.ms(p.seen_at) seen_at
     from page p left join (select worker_id, sum(open)::int running from carillon.leases group by worker_id) r
       on r.worker_id = p.worker_id
     order by p.worker_id`,
    [
      ...[filter.viewer, filter.silentMs, database.now, filter.pool, filter.live, filter.after, filter.limit],
      filter.workerId ?? null,
    ],
  )
  return rows.map((row) => ({
    workerId: row.worker_id,
    nodeId: row.node_id,
    tenant: row.tenant,
    name: row.name,
    pools: row.pools,
    running: row.running,
    live: row.live,
    registeredAt: row.registered_at,
    seenAt: row.seen_at,
  }))
}
