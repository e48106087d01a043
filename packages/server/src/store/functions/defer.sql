-- DEFER: leaves running executions to somebody outside, who will report under the same fence. They stay RUNNING with their
-- timeout, deadline and cancel flag, but no worker holds them and nobody can be silent in their place.
--
-- Verdicts as REPORT's, in the order of the input. A repeated DEFER is ACCEPTED; so is one that comes after what it
-- announced: somebody outside may be quicker than the worker that handed over.
-- Locks: running by id (SKIP LOCKED), executions by id. Indexes: running_pkey, executions_pkey.
create or replace function carillon.defer(
  p_ids uuid[], p_fences bigint[], p_started_at bigint[], p_logs text[], p_actors text[], p_outside uuid,
  p_now timestamptz default null)
returns text[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_held uuid[];
  v_verdicts text[];
begin
  v_held := array(
    select r.execution_id from unnest(p_ids, p_fences) i(execution_id, fence)
    cross join lateral (
      select x.execution_id from carillon.running x
      where x.execution_id = i.execution_id and x.fence = i.fence offset 0 for update skip locked) r
    order by r.execution_id);

  with handed as (
    select r.execution_id, r.fence, r.worker_id, r.leased_at, carillon.at(i.started_at) started_at, i.log, i.actor
    from unnest(p_ids, p_fences, p_started_at, p_logs, p_actors) i(execution_id, fence, started_at, log, actor)
    cross join lateral (
      select * from carillon.running x where x.execution_id = i.execution_id and x.fence = i.fence offset 0) r
    where i.execution_id = any (v_held) and r.worker_id <> p_outside
    order by r.execution_id
  ), moved as (
    update carillon.running r
    set worker_id = p_outside, began = true, heartbeat_timeout_sec = null,
        -- What was taken ahead waited in the worker: its time runs from when its handler began.
        overdue_at = case when r.began then r.overdue_at
                          else r.overdue_at + (greatest(h.started_at, r.leased_at) - r.leased_at) end
    from handed h where r.execution_id = h.execution_id and r.execution_id = any (v_held))
  update carillon.executions e
  set log = case when h.log is null then e.log else right(coalesce(e.log, '') || h.log, 262144) end,
      history = carillon.with_entry(e.history, jsonb_strip_nulls(jsonb_build_object(
        'at', carillon.ms(v_now), 'to', 'DEFERRED', 'actor', h.actor, 'fence', h.fence, 'workerId', h.worker_id,
        'startedAt', carillon.ms(coalesce(h.started_at, h.leased_at)))))
  from handed h where e.execution_id = h.execution_id;

  select array_agg(
    case when i.execution_id = any (v_held) then 'ACCEPTED'
         when exists (select from carillon.running r where r.execution_id = i.execution_id and r.fence = i.fence) then 'BUSY'
         when e.fence = i.fence and e.state = 'SUCCEEDED'
           or e.history @> jsonb_build_array(jsonb_build_object('fence', i.fence, 'to', 'DEFERRED'))
           or e.history @> jsonb_build_array(jsonb_build_object('fence', i.fence, 'actor', 'target')) then 'ACCEPTED'
         else 'REFUSED' end
    order by i.ordinal)
  into v_verdicts
  from unnest(p_ids, p_fences) with ordinality i(execution_id, fence, ordinal)
  left join carillon.executions e on e.execution_id = i.execution_id;

  perform carillon.note_refusals('execution.report_refused', array_agg(e.tenant), array_agg(coalesce(i.actor, 'worker')),
    array_agg(i.execution_id::text), array_agg(
      jsonb_build_object('fence', i.fence, 'outcome', 'DEFERRED', 'currentFence', coalesce(r.fence, e.fence))), v_now)
  from unnest(p_ids, p_fences, p_actors, v_verdicts) i(execution_id, fence, actor, verdict)
  left join carillon.executions e on e.execution_id = i.execution_id
  left join carillon.running r on r.execution_id = i.execution_id
  where i.verdict = 'REFUSED';
  return v_verdicts;
end $$;
