import type { Database } from '../database.ts'

/** The nodes whose lease has not run out. */
export async function readLiveNodes(database: Database): Promise<string[]> {
  const rows = await database.query<{ node_id: string }>(
    'read-live-nodes',
    'select node_id from carillon.nodes where lease_until > coalesce($1, clock_timestamp())',
    [database.now],
  )
  return rows.map((row) => row.node_id)
}

/** How many shards there are, and how many of them no live node leads. */
export async function countShards(database: Database): Promise<{ count: number; leaderless: number }> {
  const rows = await database.query<{ count: number; leaderless: number }>(
    'count-shards',
    `select count(*)::int "count", count(*) filter (where n.node_id is null)::int leaderless
     from carillon.shards s
     left join carillon.nodes n on n.node_id = s.node_id and n.lease_until > coalesce($1, clock_timestamp())`,
    [database.now],
  )
  return rows[0]!
}
