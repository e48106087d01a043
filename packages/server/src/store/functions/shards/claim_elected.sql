-- Takes the shards that this node was elected to lead elsewhere, and gives up its others. p_revisions: when it was elected, in the elector's
-- count. A shard that a live node leads is taken only if the same elector elected that one earlier: a node whose leader is not elected
-- there gives it up by itself. A claim with an older revision than the leader's is refused: it was under way for too long.
-- Every change of leader raises the epoch, as in claim_shards.
-- Locks: shards (SKIP LOCKED, as there).
create or replace function carillon.claim_elected(
  p_node uuid, p_elector text, p_shards smallint[], p_revisions bigint[], p_now timestamptz default null)
returns table (shard smallint, epoch bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_live uuid[] := array(select n.node_id from carillon.nodes n where n.lease_until > v_now order by n.node_id);
begin
  if p_node <> all (v_live) then
    return;   -- our own lease has run out: we lead nothing until it is renewed
  end if;
  with g as materialized (
    select x.shard from carillon.shards x where x.node_id = p_node and x.shard <> all (p_shards)
    order by x.shard for update skip locked)
  update carillon.shards s set node_id = null, epoch = s.epoch + 1, elector = null, revision = null from g where s.shard = g.shard;
  with g as materialized (
    select x.shard, i.revision from unnest(p_shards, p_revisions) i(shard, revision) join carillon.shards x on x.shard = i.shard
    where x.node_id is distinct from p_node
      and (x.node_id is null or x.node_id <> all (v_live) or x.elector = p_elector and x.revision < i.revision)
    order by x.shard for update of x skip locked)
  update carillon.shards s set node_id = p_node, epoch = s.epoch + 1, elector = p_elector, revision = g.revision
  from g where s.shard = g.shard;
  -- Elected once more while it led: the same leader, in the same epoch.
  update carillon.shards s set elector = p_elector, revision = i.revision from unnest(p_shards, p_revisions) i(shard, revision)
  where s.shard = i.shard and s.node_id = p_node and (s.elector, s.revision) is distinct from (p_elector, i.revision);
  return query select s.shard, s.epoch from carillon.shards s where s.node_id = p_node order by s.shard;
end $$;
