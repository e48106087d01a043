-- Puts executions whose retry is due (or whose hand-back delay is over) into `ready` again, with a new tag.
-- One without a ledger row is quarantined: there is nothing to run.
-- Locks: shards (share), executions by id, retries by id. A cancel that was faster took the retries row; nothing happens then.
create or replace function carillon.fire_retries(
  p_shards smallint[], p_epochs bigint[], p_ids uuid[], p_tags bigint[], p_now timestamptz default null)
returns table (moved uuid[], queued jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_shards smallint[];
  v_places tid[];
  v_ids uuid[];
  v_tags bigint[];
begin
  v_shards := carillon.hold_shards(p_shards, p_epochs);
  if cardinality(v_shards) = 0 then
    return;
  end if;
  -- A join, not `= any`: only a join looks into the one partition that can hold the id.
  perform from unnest(p_ids) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id
  order by e.execution_id for no key update of e;
  perform from carillon.retries t where t.execution_id = any (p_ids) order by t.execution_id for update;
  -- Each entry is looked up by itself: see docs/decisions/0024-queues-look-empty.md.
  select array_agg(t.place), array_agg(i.execution_id), array_agg(i.tag) into v_places, v_ids, v_tags
  from unnest(p_ids, p_tags) i(execution_id, tag)
  cross join lateral (
    select x.ctid place, x.due, x.shard from carillon.retries x where x.execution_id = i.execution_id offset 0) t
  where carillon.ms(t.due) <= carillon.ms(v_now) and t.shard = any (v_shards);
  with again as (
    update carillon.executions e set tag = due.tag from unnest(v_ids, v_tags) due(execution_id, tag)
    where e.execution_id = due.execution_id and e.state is null
    returning e.execution_id)
  select array_agg(a.execution_id) into moved from again a;
  if moved is not null then
    queued := carillon.readmit(moved);
  end if;
  if coalesce(cardinality(moved), 0) < cardinality(v_ids) then
    perform carillon.set_aside('FIRE of retries', array_agg('retries'::text), array_agg(jsonb_build_object('execution_id', i)),
      array_agg(i), array_agg('NO_LEDGER_ROW'::text), array_agg('the ledger has no such execution'::text), v_now)
    from unnest(v_ids) i where not exists (select from carillon.executions e where e.execution_id = i) having count(*) > 0;
  end if;
  delete from carillon.retries t where t.ctid = any (v_places);
  return next;
end $$;
