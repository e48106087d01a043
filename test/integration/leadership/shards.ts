/** Who leads what, as the database has it. */
import type pg from 'pg'

/** How many shards each node with a running lease leads, by name; `nobody`: those without such a leader. */
export async function shares(sql: pg.Client): Promise<Record<string, number>> {
  const { rows } = await sql.query(
    `select coalesce(n.name, 'nobody') name, count(s.shard)::int shards
     from (select * from carillon.nodes where lease_until > clock_timestamp()) n
     full join carillon.shards s on s.node_id = n.node_id group by 1`,
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.shards]))
}

export interface Shard {
  shard: number
  nodeId: string | null
  epoch: number
}

export async function shards(sql: pg.Client): Promise<Shard[]> {
  const { rows } = await sql.query('select shard, node_id "nodeId", epoch::int from carillon.shards order by shard')
  return rows
}
