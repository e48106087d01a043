-- CANCEL: ends executions that have not started, and flags those that run. It follows the row: LEASE, REPORT or FIRE may
-- move it from one table to the next between two statements. What moved away meanwhile, or is locked by a transaction
-- ending it, is BUSY: the caller asks again in a transaction of its own, so no lock is held while waiting for another.
--
-- Locks: leases by id (SKIP LOCKED: a report under way decides), executions by id, blocked by id, waiting, retries, ready.
-- A running execution ends through REPORT, which obeys the flag; the sweeper ends it after the grace.
create or replace function carillon.cancel(
  p_ids uuid[], p_reason text, p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text, worker_id uuid, fence bigint)   -- CANCELLED, FLAGGED, ENDED, UNKNOWN, BUSY
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_left uuid[] := p_ids;
  v_hit uuid[] := '{}';
begin
  verdict := 'FLAGGED';
  for execution_id, worker_id, fence in select f.* from carillon.flag_running(p_ids, p_reason, p_actor, v_now) f loop
    v_hit := v_hit || execution_id;
    return next;
  end loop;
  v_left := array(select l from unnest(v_left) l where l <> all (v_hit));
  if cardinality(v_left) = 0 then
    return;
  end if;

  v_hit := carillon.end_pending(v_left, array_fill('CANCELLED'::text, array[cardinality(v_left)]),
                                array_fill(p_reason, array[cardinality(v_left)]), p_actor, v_now);
  return query
  select l, case when l = any (v_hit) then 'CANCELLED' when e.execution_id is null then 'UNKNOWN'
                 when e.state is not null then 'ENDED' else 'BUSY' end, null::uuid, null::bigint
  from unnest(v_left) l left join carillon.executions e on e.execution_id = l;
end $$;

-- Tells those that run to stop; answers which. Locks: leases by id (SKIP LOCKED).
create or replace function carillon.flag_running(p_ids uuid[], p_reason text, p_actor text, p_now timestamptz)
returns table (execution_id uuid, worker_id uuid, fence bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_ids uuid[];
  v_fences bigint[];
  v_numbers int[];
begin
  select array_agg(e.execution_id), array_agg(f.fence) into v_ids, v_fences
  from unnest(p_ids) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id
  cross join lateral (select carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) fence) f
  where e.state is null and f.fence is not null;
  v_numbers := carillon.hold_leases(v_ids, v_fences, true);
  if v_numbers = '{}' then
    return;
  end if;
  insert into carillon.lease_notes as x (execution_id, fence, cancel_at, cancel_reason, cancel_by, overdue_at)
  select i.id, i.fence, p_now, p_reason, p_actor, least(coalesce(n.overdue_at, l.overdue_at), p_now + l.grace_sec * interval '1 second')
  from unnest(v_numbers) m cross join lateral (select v_ids[m] id, v_fences[m] fence) i
  join carillon.leases l on l.lease_id = i.fence >> 10
  left join carillon.lease_notes n on n.execution_id = i.id and n.fence = i.fence
  order by i.id
  on conflict (execution_id) do update
    set cancel_at = coalesce(x.cancel_at, excluded.cancel_at), cancel_reason = coalesce(x.cancel_reason, excluded.cancel_reason),
      cancel_by = coalesce(x.cancel_by, excluded.cancel_by), overdue_at = excluded.overdue_at
    where x.fence = excluded.fence;
  perform carillon.mark_noted(array(select v_fences[m] from unnest(v_numbers) m));
  return query
  select i.id, coalesce(n.worker_id, l.worker_id), i.fence
  from unnest(v_numbers) m cross join lateral (select v_ids[m] id, v_fences[m] fence) i
  join carillon.leases l on l.lease_id = i.fence >> 10
  join carillon.lease_notes n on n.execution_id = i.id and n.fence = i.fence;
end $$;

-- Ends those that stand in `blocked`, `waiting`, `retries`, `ready` or in quarantine, each in the state and for the reason given; answers which.
-- Only what stands there is locked: a ledger row that belongs to a running execution is left to its REPORT, which
-- would otherwise wait for us while we wait for what it holds.
-- Locks: executions by id, blocked by id (with all that it will count down), waiting, retries, ready, quarantine.
create or replace function carillon.end_pending(
  p_ids uuid[], p_states text[], p_reasons text[], p_actor text, p_now timestamptz) returns uuid[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_ids uuid[];
  v_gone uuid[];
  v_states text[];
  v_reasons text[];
  v_entries jsonb[];
begin
  v_ids := array(
    select e.execution_id from unnest(p_ids) i(execution_id)
    join carillon.executions e on e.execution_id = i.execution_id   -- a join, which looks into one partition per id
    where e.state is null
      and (exists (select from carillon.waiting w where w.execution_id = e.execution_id)
        or e.origin = 'DAG' and exists (select from carillon.blocked b where b.execution_id = e.execution_id)
        or exists (select from carillon.retries t where t.execution_id = e.execution_id)
        or exists (select from carillon.ready q where q.pool = e.pool and q.lane = e.lane and q.tag = e.tag
                     and q.execution_id = e.execution_id)
        or exists (select from carillon.quarantine z where z.execution_id = e.execution_id)
          and carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is null)
    order by e.execution_id for no key update of e);
  if cardinality(v_ids) = 0 then
    return v_ids;
  end if;

  perform carillon.hold_blocked(v_ids, v_ids);
  perform from carillon.waiting w where w.execution_id = any (v_ids) order by w.execution_id for update;
  perform from carillon.retries t where t.execution_id = any (v_ids) order by t.execution_id for update;
  perform from unnest(v_ids) i(execution_id)
  join carillon.executions e on e.execution_id = i.execution_id
  join carillon.ready q on q.pool = e.pool and q.lane = e.lane and q.tag = e.tag and q.execution_id = e.execution_id
  order by q.pool, q.lane, q.tag, q.execution_id for update of q;
  with gone_blocked as (
    delete from carillon.blocked b where b.execution_id = any (v_ids) returning b.execution_id
  ), gone_waiting as (
    delete from carillon.waiting w where w.execution_id = any (v_ids) returning w.execution_id
  ), gone_retries as (
    delete from carillon.retries t where t.execution_id = any (v_ids) returning t.execution_id
  ), gone_ready as (
    delete from carillon.ready q using unnest(v_ids) i(execution_id), carillon.executions e
    where e.execution_id = i.execution_id and q.pool = e.pool and q.lane = e.lane and q.tag = e.tag
      and q.execution_id = e.execution_id
    returning q.execution_id
  ), gone_quarantine as (
    delete from carillon.quarantine z using carillon.executions e
    where z.execution_id = any (v_ids) and e.execution_id = z.execution_id
      and carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is null
    returning z.execution_id)
  select array_agg(distinct g.execution_id) into v_ids from (
    select * from gone_blocked union all select * from gone_waiting union all select * from gone_retries union all select * from gone_ready
    union all select * from gone_quarantine) g;

  v_gone := coalesce(v_ids, '{}');
  select array_agg(i.execution_id), array_agg(i.state), array_agg(i.reason), array_agg(jsonb_build_object('at', carillon.ms(p_now),
    'to', i.state, 'actor', p_actor, 'reason', i.reason)) into v_ids, v_states, v_reasons, v_entries
  from unnest(p_ids, p_states, p_reasons) i(execution_id, state, reason) where i.execution_id = any (v_gone);
  perform carillon.end_executions(p_now, v_ids, v_states, p_reasons => v_reasons, p_entries => v_entries, p_actors => array[p_actor]);
  return v_gone;
end $$;
