-- CANCEL: ends executions that have not started, and flags those that run. It follows the row: LEASE, REPORT or FIRE may
-- move it from one table to the next between two statements. What moved away meanwhile, or is held by whoever is
-- ending it, is BUSY: the caller asks again in a transaction of its own, so no lock is held while waiting for another.
--
-- Locks: running by id (SKIP LOCKED: a report under way decides), executions by id, waiting, retries, ready.
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

-- Tells those that run to stop; answers which. Locks: running by id (SKIP LOCKED).
create or replace function carillon.flag_running(p_ids uuid[], p_reason text, p_actor text, p_now timestamptz)
returns table (execution_id uuid, worker_id uuid, fence bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
begin
  return query
  with held as (
    select r.execution_id from carillon.running r where r.execution_id = any (p_ids)
    order by r.execution_id for update skip locked)
  update carillon.running r
  set cancel_at = coalesce(r.cancel_at, p_now), cancel_reason = coalesce(r.cancel_reason, p_reason),
      cancel_by = coalesce(r.cancel_by, p_actor),
      overdue_at = least(r.overdue_at, p_now + r.grace_sec * interval '1 second')
  from held f where r.execution_id = f.execution_id
  returning r.execution_id, r.worker_id, r.fence;
end $$;

-- Ends those that stand in `waiting`, `retries`, `ready` or in quarantine, each in the state and for the reason given; answers which.
-- Only what stands there is locked: a ledger row that belongs to a running execution is left to its REPORT, which
-- would otherwise wait for us while we wait for what it holds.
-- Locks: executions by id, waiting, retries, ready, quarantine.
create or replace function carillon.end_pending(
  p_ids uuid[], p_states text[], p_reasons text[], p_actor text, p_now timestamptz) returns uuid[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_ids uuid[];
  v_guarded uuid[];
begin
  v_ids := array(
    select e.execution_id from unnest(p_ids) i(execution_id)
    join carillon.executions e on e.execution_id = i.execution_id   -- a join, which looks into one partition per id
    where e.state is null
      and (exists (select from carillon.waiting w where w.execution_id = e.execution_id)
        or exists (select from carillon.retries t where t.execution_id = e.execution_id)
        or exists (select from carillon.ready q where q.pool = e.pool and q.lane = e.lane and q.tag = e.tag
                     and q.execution_id = e.execution_id)
        or exists (select from carillon.quarantine z where z.execution_id = e.execution_id)
          and not exists (select from carillon.running r where r.execution_id = e.execution_id))
    order by e.execution_id for update of e);
  if cardinality(v_ids) = 0 then
    return v_ids;
  end if;

  perform from carillon.waiting w where w.execution_id = any (v_ids) order by w.execution_id for update;
  perform from carillon.retries t where t.execution_id = any (v_ids) order by t.execution_id for update;
  perform from unnest(v_ids) i(execution_id)
  join carillon.executions e on e.execution_id = i.execution_id
  join carillon.ready q on q.pool = e.pool and q.lane = e.lane and q.tag = e.tag and q.execution_id = e.execution_id
  order by q.pool, q.lane, q.tag, q.execution_id for update of q;
  with gone_waiting as (
    delete from carillon.waiting w where w.execution_id = any (v_ids) returning w.execution_id
  ), gone_retries as (
    delete from carillon.retries t where t.execution_id = any (v_ids) returning t.execution_id
  ), gone_ready as (
    delete from carillon.ready q using unnest(v_ids) i(execution_id), carillon.executions e
    where e.execution_id = i.execution_id and q.pool = e.pool and q.lane = e.lane and q.tag = e.tag
      and q.execution_id = e.execution_id
    returning q.execution_id
  ), gone_quarantine as (
    delete from carillon.quarantine z where z.execution_id = any (v_ids)
      and not exists (select from carillon.running r where r.execution_id = z.execution_id)
    returning z.execution_id)
  select array_agg(distinct g.execution_id) into v_ids from (
    select * from gone_waiting union all select * from gone_retries union all select * from gone_ready
    union all select * from gone_quarantine) g;

  with ended as (
    update carillon.executions e
    set state = i.state, reason = i.reason, finished_at = p_now,
        history = carillon.with_entry(e.history, jsonb_build_object('at', carillon.ms(p_now), 'to', i.state,
          'actor', p_actor, 'reason', i.reason))
    from unnest(p_ids, p_states, p_reasons) i(execution_id, state, reason)
    where e.execution_id = i.execution_id and i.execution_id = any (v_ids)
    returning e.execution_id, e.job_id, e.tenant, e.guarded, e.state
  ), in_endings as (
    insert into carillon.endings (execution_id, tenant, state) select n.execution_id, n.tenant, n.state from ended n)
  select array_agg(distinct n.job_id) filter (where n.guarded) into v_guarded from ended n;
  perform carillon.tell_executions(v_ids, null, p_actor, p_now);
  if v_guarded is not null then
    perform carillon.release_waiting(v_guarded, p_now);
  end if;
  return coalesce(v_ids, '{}');
end $$;
