-- What a worker says besides outcomes. Each names its fence; SKIP LOCKED, because news is repeated and a report that
-- is ending the execution goes first. Locks: running by id.

-- The handler of these has begun. Returns those that may: the lease holds and nobody asked to cancel. Their time runs from
-- now: what was taken ahead has waited in the worker meanwhile.
create or replace function carillon.begin_handlers(
  p_ids uuid[], p_fences bigint[], p_now timestamptz default null) returns uuid[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_begun uuid[];
begin
  with held as (
    select r.execution_id from unnest(p_ids, p_fences) i(execution_id, fence)
    join carillon.running r on r.execution_id = i.execution_id and r.fence = i.fence
    where r.cancel_at is null
    order by r.execution_id for update of r skip locked
  ), begun as (
    update carillon.running r
    set began = true, heartbeat_at = case when r.began then r.heartbeat_at else v_now end,
      overdue_at = case when r.began then r.overdue_at else r.overdue_at + (v_now - r.leased_at) end
    from held where r.execution_id = held.execution_id returning r.execution_id)
  select coalesce(array_agg(b.execution_id), '{}') into v_begun from begun b;
  return v_begun;
end $$;

create or replace function carillon.store_progress(
  p_ids uuid[], p_fences bigint[], p_progress text[], p_now timestamptz default null) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  with held as (
    select r.execution_id, i.progress from unnest(p_ids, p_fences, p_progress) i(execution_id, fence, progress)
    join carillon.running r on r.execution_id = i.execution_id and r.fence = i.fence
    order by r.execution_id for update of r skip locked)
  update carillon.running r
  set progress = coalesce(held.progress, r.progress), heartbeat_at = coalesce(p_now, clock_timestamp())
  from held where r.execution_id = held.execution_id;
end $$;
