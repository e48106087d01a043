-- What a worker reports besides outcomes. Each names its fence; leases locked by others are left out (SKIP LOCKED), because news
-- is repeated and a report that is ending the execution goes first. Locks: leases by id, lease_notes (SKIP LOCKED).

-- The handler of these has begun. Returns those that may: the lease holds and was not cancelled. Their time runs from
-- now: what was taken ahead has waited in the worker meanwhile.
create or replace function carillon.begin_handlers(
  p_ids uuid[], p_fences bigint[], p_now timestamptz default null) returns uuid[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_numbers int[] := carillon.hold_leases(p_ids, p_fences, true);
  v_begun uuid[];
begin
  select array_agg(i.id) filter (where n.cancel_at is null) into v_begun
  from unnest(v_numbers) m cross join lateral (select p_ids[m] id, p_fences[m] fence) i
  left join carillon.lease_notes n on n.execution_id = i.id and n.fence = i.fence;
  if v_begun is null then
    return '{}';
  end if;
  insert into carillon.lease_notes as x (execution_id, fence, began, heartbeat_at, overdue_at)
  select i.id, i.fence, true, v_now, l.overdue_at + (v_now - l.leased_at)
  from unnest(v_numbers) m cross join lateral (select p_ids[m] id, p_fences[m] fence) i
  join carillon.leases l on l.lease_id = i.fence >> 10
  where i.id = any (v_begun) and not l.began
  order by i.id
  on conflict (execution_id) do update
    set began = true, heartbeat_at = excluded.heartbeat_at, overdue_at = least(excluded.overdue_at, coalesce(x.overdue_at, 'infinity'))
    where x.began is not true and x.fence = excluded.fence;
  perform carillon.mark_noted(array(select p_fences[m] from unnest(v_numbers) m where p_ids[m] = any (v_begun)));
  return v_begun;
end $$;

-- Listeners are told of progress once a second and execution: the first one that arrives in it.
create or replace function carillon.store_progress(
  p_ids uuid[], p_fences bigint[], p_progress text[], p_now timestamptz default null) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_numbers int[] := carillon.hold_leases(p_ids, p_fences, true);
  v_told int[];
begin
  if carillon.has_listeners(v_now) then
    v_told := array(
      select m from unnest(v_numbers) m left join carillon.lease_notes n on n.execution_id = p_ids[m] and n.fence = p_fences[m]
      where p_progress[m] is not null
        and (n.progress is null or date_trunc('second', n.heartbeat_at) < date_trunc('second', v_now)));
  end if;
  insert into carillon.lease_notes as x (execution_id, fence, progress, heartbeat_at)
  select i.id, i.fence, i.progress, v_now
  from unnest(v_numbers) m cross join lateral (select p_ids[m] id, p_fences[m] fence, p_progress[m] progress) i
  order by i.id
  on conflict (execution_id) do update set progress = coalesce(excluded.progress, x.progress), heartbeat_at = excluded.heartbeat_at
    where x.fence = excluded.fence;
  perform carillon.mark_noted(array(select p_fences[m] from unnest(v_numbers) m));
  if v_told <> '{}' then
    perform carillon.tell_progress(array_agg(p_ids[m]), array_agg(p_fences[m]), array_agg(p_progress[m]), v_now) from unnest(v_told) m;
  end if;
end $$;
