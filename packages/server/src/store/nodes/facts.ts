/** What nodes say about themselves; see upkeep/node-recorder.ts. */
import type { Database } from '../database.ts'
import { countShards } from '../shards/nodes.ts'

export interface NodeFacts {
  nodeId: string
  name: string
  version: string
  /** Milliseconds by which its clock is ahead of the database's. */
  clockOffsetMs: number | null
  /** Worker sessions. */
  workers: number
  /** Cores used. */
  cpu: number
  memoryBytes: number
  /** Share of the time in which the event loop was busy. */
  eventLoop: number
  /** Servers that it cannot reach. */
  away: string[]
}

export interface ListedNode extends NodeFacts {
  startedAt: Date
  seenAt: Date
  shards: number
}

/** Writes this node's row, and removes those of nodes that have been silent for ten minutes. Locks: these rows. */
export async function writeNodeFacts(database: Database, facts: NodeFacts): Promise<void> {
  const { nodeId, name, version, clockOffsetMs, workers, cpu, memoryBytes, eventLoop, away } = facts
  await database.query(
    'write-node-facts',
    `with silent as (
       delete from carillon.node_facts
       where node_id in (select f.node_id from carillon.node_facts f
         where f.node_id <> $1 and f.seen_at < coalesce($10, clock_timestamp()) - interval '10 minutes' for update skip locked))
     insert into carillon.node_facts as f
       (node_id, name, version, clock_offset_ms, workers, cpu, memory_bytes, event_loop, away, started_at, seen_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10, clock_timestamp()), coalesce($10, clock_timestamp()))
     on conflict (node_id) do update set clock_offset_ms = excluded.clock_offset_ms, workers = excluded.workers,
       cpu = excluded.cpu, memory_bytes = excluded.memory_bytes, event_loop = excluded.event_loop, away = excluded.away,
       seen_at = excluded.seen_at`,
    [nodeId, name, version, clockOffsetMs, workers, cpu, memoryBytes, eventLoop, away, database.now],
  )
}

export async function removeNodeFacts(database: Database, nodeId: string): Promise<void> {
  await database.query('remove-node-facts', 'delete from carillon.node_facts where node_id = $1', [nodeId])
}

/** Nodes heard of within the last minute, by name, with the shards that each leads. Reads three short tables. */
export async function listNodes(
  database: Database,
): Promise<{ nodes: ListedNode[]; shards: { count: number; leaderless: number } }> {
  const nodes = await database.query<ListedNode>(
    'list-nodes',
    `select f.node_id "nodeId", f.name, f.version, f.clock_offset_ms "clockOffsetMs", f.workers, f.cpu,
       f.memory_bytes "memoryBytes", f.event_loop "eventLoop", f.away, f.started_at "startedAt", f.seen_at "seenAt",
       (select count(*)::int from carillon.shards s join carillon.nodes n on n.node_id = s.node_id
        where s.node_id = f.node_id and n.lease_until > coalesce($1, clock_timestamp())) shards
     from carillon.node_facts f where f.seen_at > coalesce($1, clock_timestamp()) - interval '1 minute'
     order by f.name, f.node_id`,
    [database.now],
  )
  return { nodes, shards: await countShards(database) }
}
