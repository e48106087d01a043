-- CANCEL: ends executions that have not started, and flags those that run. It follows the row: LEASE, REPORT or FIRE
-- may move it from one table to the next between two statements, each of which sees what was committed before it, so
-- the search goes round until every id was found in one place.
--
-- Locks: running (SKIP LOCKED: a report under way decides), executions by id, then waiting, retries, ready.
-- A running execution ends through REPORT, which obeys the flag; the sweeper ends it after the grace.
create or replace function carillon.cancel(
  p_ids uuid[], p_reason text, p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text, worker_id uuid, fence bigint)   -- CANCELLED, FLAGGED, ENDED, UNKNOWN
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_left uuid[] := p_ids;
  v_hit uuid[];
  v_guarded uuid[];
begin
  for v_round in 1..50 loop
    exit when coalesce(cardinality(v_left), 0) = 0;

    v_hit := '{}';
    for execution_id, worker_id, fence in
      with flagged as (
        select r.execution_id from carillon.running r where r.execution_id = any (v_left)
        order by r.execution_id for update skip locked)
      update carillon.running r
      set cancel_at = coalesce(r.cancel_at, v_now), cancel_reason = coalesce(r.cancel_reason, p_reason),
          cancel_by = coalesce(r.cancel_by, p_actor),
          overdue_at = least(r.overdue_at, v_now + r.grace_sec * interval '1 second')
      from flagged f where r.execution_id = f.execution_id
      returning r.execution_id, r.worker_id, r.fence
    loop
      verdict := 'FLAGGED';
      v_hit := v_hit || execution_id;
      return next;
    end loop;
    worker_id := null; fence := null;
    v_left := array(select l from unnest(v_left) l where l <> all (v_hit));

    -- Waits for whoever is ending the execution right now.
    v_hit := '{}';
    for execution_id, verdict in
      select e.execution_id, case when e.state is null then 'OPEN' else 'ENDED' end
      from carillon.executions e where e.execution_id = any (v_left) order by e.execution_id for update
    loop
      if verdict = 'ENDED' then
        return next;
      else
        v_hit := v_hit || execution_id;
      end if;
    end loop;
    -- Ids that are in no partition are unknown; say so once.
    if v_round = 1 then
      for execution_id in
        select l from unnest(v_left) l where not exists (select from carillon.executions e where e.execution_id = l)
      loop
        verdict := 'UNKNOWN';
        return next;
      end loop;
    end if;
    v_left := v_hit;

    with gone_waiting as (
      delete from carillon.waiting w where w.execution_id = any (v_left) returning w.execution_id
    ), gone_retries as (
      delete from carillon.retries t where t.execution_id = any (v_left) returning t.execution_id
    ), gone_ready as (
      delete from carillon.ready q using carillon.executions e
      where e.execution_id = any (v_left) and q.pool = e.pool and q.lane = e.lane and q.tag = e.tag
        and q.execution_id = e.execution_id
      returning q.execution_id)
    select coalesce(array_agg(g.execution_id), '{}') into v_hit from (
      select * from gone_waiting union all select * from gone_retries union all select * from gone_ready) g;
    with ended as (
      update carillon.executions e
      set state = 'CANCELLED', reason = p_reason, finished_at = v_now,
          history = coalesce(e.history, '[]') || jsonb_build_object('at', carillon.ms(v_now), 'to', 'CANCELLED',
            'actor', p_actor, 'reason', p_reason)
      where e.execution_id = any (v_hit) returning e.execution_id, e.job_id, e.tenant, e.guarded
    ), in_endings as (
      insert into carillon.endings (execution_id, tenant, state) select n.execution_id, n.tenant, 'CANCELLED' from ended n)
    select v_guarded || array_agg(n.job_id) filter (where n.guarded) into v_guarded from ended n;
    verdict := 'CANCELLED';
    foreach execution_id in array v_hit loop
      return next;
    end loop;
    v_left := array(select l from unnest(v_left) l where l <> all (v_hit));
  end loop;
  if v_guarded is not null then
    perform carillon.release_waiting(v_guarded, v_now);
  end if;
  if cardinality(v_left) > 0 then
    raise exception 'carillon: executions % are in no place', v_left using errcode = '40001';
  end if;
end $$;
