import type { TagRequest } from '../../domain/fairness.ts'
import { bigints, smallints, texts } from '../arrays.ts'
import type { Database } from '../database.ts'

/** Reserves `count` tags for each flow. Answers where each flow ends then, in the order asked. */
export async function reserveTags(
  database: Database,
  requests: (TagRequest & { virtualTime: number })[],
): Promise<number[]> {
  const rows = await database.query<{ reserve_tags: number }>(
    'reserve-tags',
    'select carillon.reserve_tags($1, $2, $3, $4, $5)',
    [
      texts(requests.map((r) => r.pool)),
      smallints(requests.map((r) => r.lane)),
      texts(requests.map((r) => r.tenant)),
      bigints(requests.map((r) => r.count * r.cost)),
      bigints(requests.map((r) => r.virtualTime)),
    ],
  )
  return rows.map((row) => row.reserve_tags)
}

export interface LaneTime {
  pool: string
  lane: number
  virtualTime: number
}

/** Raises the lanes' published virtual times to those given and answers all of them. */
export async function publishVirtualTimes(database: Database, times: LaneTime[]): Promise<LaneTime[]> {
  if (times.length > 0) {
    await database.query(
      'publish-virtual-times',
      `insert into carillon.lanes as l (pool, lane, virtual_time)
       select * from unnest($1::text[], $2::smallint[], $3::bigint[]) order by 1, 2
       on conflict (pool, lane) do update set virtual_time = greatest(l.virtual_time, excluded.virtual_time)`,
      [times.map((t) => t.pool), times.map((t) => t.lane), times.map((t) => t.virtualTime)],
    )
  }
  const rows = await database.query<{ pool: string; lane: number; virtual_time: number }>(
    'read-virtual-times',
    'select pool, lane, virtual_time from carillon.lanes',
  )
  return rows.map((row) => ({ pool: row.pool, lane: row.lane, virtualTime: row.virtual_time }))
}
