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
