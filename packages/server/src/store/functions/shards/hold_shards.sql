-- The first step of everything a shard leader writes: which of the shards it believes to lead does it still lead?
-- FOR SHARE keeps a take-over (which updates the row) out until the caller's transaction ends; FOR KEY SHARE would
-- let it through. A replaced leader gets nothing and therefore writes nothing; that it tried is put on record.
create or replace function carillon.hold_shards(p_shards smallint[], p_epochs bigint[]) returns smallint[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_held smallint[] := array(
    select s.shard from unnest(p_shards, p_epochs) i(shard, epoch)
    join carillon.shards s on s.shard = i.shard and s.epoch = i.epoch
    order by s.shard for share of s);
begin
  if cardinality(v_held) < cardinality(p_shards) then
    perform carillon.note_refusals('shard.write_refused', array[null::text], array[current_setting('application_name')],
      array[null::text], array[jsonb_build_object(
        'shards', (select jsonb_agg(i.shard) from unnest(p_shards) i(shard) where i.shard <> all (v_held)))], clock_timestamp());
  end if;
  return v_held;
end $$;
