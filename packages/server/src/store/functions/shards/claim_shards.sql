-- Shares the shards evenly between the nodes whose lease runs, the remainder by order of their ids: gives up what this
-- node has too many, takes shards without a leader. Every change of leader raises the shard's epoch, and so shuts the old leader out of FIRE.
-- Locks: shards (SKIP LOCKED: a FIRE or another claim under way goes first; the next round comes in half a second).
create or replace function carillon.claim_shards(p_node uuid, p_now timestamptz default null)
returns table (shard smallint, epoch bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_live uuid[] := array(select n.node_id from carillon.nodes n where n.lease_until > v_now order by n.node_id);
  v_share int;
  v_mine int;
begin
  if p_node <> all (v_live) then
    return;   -- our own lease has run out: we lead nothing until it is renewed
  end if;
  select count(*) / cardinality(v_live)
    + case when array_position(v_live, p_node) <= count(*) % cardinality(v_live) then 1 else 0 end, count(*) filter (where s.node_id = p_node)
  into v_share, v_mine from carillon.shards s;

  if v_mine > v_share then
    with g as materialized (
      select x.shard from carillon.shards x where x.node_id = p_node
      order by x.shard desc limit v_mine - v_share for update skip locked)
    update carillon.shards s set node_id = null, epoch = s.epoch + 1, elector = null, revision = null from g where s.shard = g.shard;
  elsif v_mine < v_share then
    with g as materialized (
      select x.shard from carillon.shards x where x.node_id is null or x.node_id <> all (v_live)
      order by x.shard limit v_share - v_mine for update skip locked)
    update carillon.shards s set node_id = p_node, epoch = s.epoch + 1, elector = null, revision = null from g where s.shard = g.shard;
  end if;
  return query select s.shard, s.epoch from carillon.shards s where s.node_id = p_node order by s.shard;
end $$;
