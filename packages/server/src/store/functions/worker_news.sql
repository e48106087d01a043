-- What a worker says besides outcomes. Each names its fence; SKIP LOCKED, because news is repeated and a report that
-- is ending the execution goes first. Locks: running (SKIP LOCKED). Each entry is looked up by itself, see
-- docs/decisions/0024-queues-look-empty.md.

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
  v_places tid[];
  v_begun uuid[];
begin
  select array_agg(r.place) into v_places from unnest(p_ids, p_fences) i(execution_id, fence)
  cross join lateral (
    select x.ctid place from carillon.running x
    where x.execution_id = i.execution_id and x.fence = i.fence and x.cancel_at is null offset 0 for update skip locked) r;
  with begun as (
    update carillon.running r
    set began = true, heartbeat_at = case when r.began then r.heartbeat_at else v_now end,
      overdue_at = case when r.began then r.overdue_at else r.overdue_at + (v_now - r.leased_at) end
    where r.ctid = any (v_places) returning r.execution_id)
  select coalesce(array_agg(b.execution_id), '{}') into v_begun from begun b;
  return v_begun;
end $$;

create or replace function carillon.store_progress(
  p_ids uuid[], p_fences bigint[], p_progress text[], p_now timestamptz default null) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_places tid[];
  v_progress text[];
begin
  select array_agg(r.place), array_agg(i.progress) into v_places, v_progress
  from unnest(p_ids, p_fences, p_progress) i(execution_id, fence, progress)
  cross join lateral (
    select x.ctid place from carillon.running x
    where x.execution_id = i.execution_id and x.fence = i.fence offset 0 for update skip locked) r;
  update carillon.running r
  set progress = coalesce(m.progress, r.progress), heartbeat_at = coalesce(p_now, clock_timestamp())
  -- Said twice: else a plan may walk over all of `running`.
  from unnest(v_places, v_progress) m(place, progress) where r.ctid = m.place and r.ctid = any (v_places);
end $$;

-- What stands in `running` of these executions, as far as its worker has to know. Index: running_pkey.
create or replace function carillon.read_running(p_ids uuid[])
returns table (execution_id uuid, fence bigint, worker_id uuid, cancel_reason text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  return query
  select r.execution_id, r.fence, r.worker_id, case when r.cancel_at is not null then r.cancel_reason end
  from unnest(p_ids) i(execution_id)
  cross join lateral (select * from carillon.running x where x.execution_id = i.execution_id offset 0) r;
end $$;
