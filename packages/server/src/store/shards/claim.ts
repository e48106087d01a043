import { bigints, smallints } from '../arrays.ts'
import type { Database } from '../database.ts'

export interface LedShard {
  shard: number
  epoch: number
}

/** Takes this node's share of the shards (see functions/shards/claim_shards.sql); tells whether others are there. */
export async function claimShards(database: Database, nodeId: string): Promise<{ shards: LedShard[]; alone: boolean }> {
  const rows = await database.query<{ shards: LedShard[] | null; alone: boolean }>(
    'claim-shards',
    `select (select json_agg(json_build_object('shard', c.shard, 'epoch', c.epoch)) from carillon.claim_shards($1, $2) c) shards,
       not exists (select from carillon.nodes where node_id <> $1 and lease_until > coalesce($2, clock_timestamp())) alone`,
    [nodeId, database.now],
  )
  const { shards, alone } = rows[0]!
  return { shards: shards ?? [], alone }
}

/** A shard that this node was elected to lead outside of PostgreSQL, and when, in the elector's count. */
export interface ElectedShard {
  shard: number
  revision: number
}

/** Takes the shards this node was elected to lead, as far as PostgreSQL agrees: see functions/shards/claim_elected.sql. `live`: its own lease runs. */
export async function claimElected(
  database: Database,
  nodeId: string,
  { elector, shards }: { elector: string; shards: readonly ElectedShard[] },
): Promise<{ shards: LedShard[]; alone: boolean; live: boolean }> {
  const rows = await database.query<{ shards: LedShard[] | null; alone: boolean; live: boolean }>(
    'claim-elected',
    `select (select json_agg(json_build_object('shard', c.shard, 'epoch', c.epoch))
       from carillon.claim_elected($1, $3, $4, $5, $2) c) shards,
       not exists (select from carillon.nodes where node_id <> $1 and lease_until > coalesce($2, clock_timestamp())) alone,
       exists (select from carillon.nodes where node_id = $1 and lease_until > coalesce($2, clock_timestamp())) live`,
    [
      ...[nodeId, database.now, elector],
      ...[smallints(shards.map(({ shard }) => shard)), bigints(shards.map(({ revision }) => revision))],
    ],
  )
  const { shards: led, alone, live } = rows[0]!
  return { shards: led ?? [], alone, live }
}

/** Gives up every shard and the node's lease, so that others need not wait for it to run out. */
export async function resign(database: Database, nodeId: string): Promise<void> {
  await database.query(
    'resign',
    `with led as materialized (
       select shard from carillon.shards where node_id = $1 order by shard for update
     ), shards as (
       update carillon.shards s set node_id = null, epoch = epoch + 1 from led where s.shard = led.shard)
     delete from carillon.nodes where node_id = $1`,
    [nodeId],
  )
}

/** Forgets nodes whose lease ran out an hour ago: killed ones leave their row behind. */
export async function forgetNodes(database: Database): Promise<void> {
  await database.query(
    null,
    `delete from carillon.nodes where lease_until < coalesce($1, clock_timestamp()) - interval '1 hour'`,
    [database.now],
  )
}

/** Starts or prolongs a node's lease. */
export async function renewLease(
  database: Database,
  node: { nodeId: string; name: string; leaseMs: number },
): Promise<void> {
  await database.query('renew-lease', renewLeaseSql, [node.nodeId, node.name, node.leaseMs, database.now])
}

export const renewLeaseSql = `
  insert into carillon.nodes (node_id, name, lease_until)
  values ($1, $2, coalesce($4, clock_timestamp()) + $3 * interval '1 millisecond')
  on conflict (node_id) do update set lease_until = excluded.lease_until`
