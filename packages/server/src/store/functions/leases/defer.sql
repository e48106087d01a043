-- DEFER: leaves running executions to an external system, which will report under the same fence. They stay RUNNING with their
-- timeout, deadline and cancel flag, but no worker holds them, so no silence can lose them.
--
-- Verdicts as REPORT's, in the order of the input. A repeated DEFER is ACCEPTED; so is one that comes after what it
-- announced: the external system may be quicker than the worker that defers.
-- Locks: leases by id (SKIP LOCKED), executions by id. Indexes: leases_pkey, executions_pkey.
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
  v_numbers int[];
  v_verdicts text[];
begin
  v_numbers := carillon.hold_leases(p_ids, p_fences, true);
  select array_agg(p_ids[m]) into v_held from unnest(v_numbers) m;
  v_held := coalesce(v_held, '{}');

  with handed as (
    select i.execution_id, i.fence, coalesce(n.worker_id, l.worker_id) worker_id, l.leased_at, carillon.at(i.started_at) started_at,
      i.actor, coalesce(n.began, l.began) began, coalesce(n.overdue_at, l.overdue_at) overdue_at
    from unnest(v_numbers) m cross join lateral (
      select p_ids[m] execution_id, p_fences[m] fence, p_started_at[m] started_at, p_actors[m] actor) i
    join carillon.leases l on l.lease_id = i.fence >> 10
    left join carillon.lease_notes n on n.execution_id = i.execution_id and n.fence = i.fence
    where coalesce(n.worker_id, l.worker_id) <> p_outside
    order by i.execution_id
  ), noted as (
    insert into carillon.lease_notes as x (execution_id, fence, worker_id, began, overdue_at)
    select h.execution_id, h.fence, p_outside, true,
      -- What was taken ahead waited in the worker: its time runs from when its handler began.
      case when h.began then h.overdue_at else h.overdue_at + (greatest(h.started_at, h.leased_at) - h.leased_at) end
    from handed h
    on conflict (execution_id) do update
      set worker_id = excluded.worker_id, began = true, overdue_at = excluded.overdue_at
  ), marked as (
    update carillon.leases l set noted = true
    where l.lease_id = any (array(select h.fence >> 10 from handed h)) and not l.noted)
  update carillon.executions e
  set history = carillon.with_entry(e.history, jsonb_strip_nulls(jsonb_build_object(
        'at', carillon.ms(v_now), 'to', 'DEFERRED', 'actor', h.actor, 'fence', h.fence, 'workerId', h.worker_id,
        'startedAt', carillon.ms(coalesce(h.started_at, h.leased_at)))))
  from handed h where e.execution_id = h.execution_id;
  if array_remove(p_logs, null) <> '{}' then
    perform carillon.append_lines(v_now, array_agg(p_ids[m]), array_agg(p_fences[m]), array_agg(e.attempt + 1), array_agg(p_logs[m]))
    from unnest(v_numbers) m join carillon.executions e on e.execution_id = p_ids[m]
    where p_logs[m] is not null having count(*) > 0;
  end if;

  select array_agg(
    case when i.execution_id = any (v_held) then 'ACCEPTED'
         when exists (select from carillon.read_held(array[i.execution_id], array[i.fence])) then 'BUSY'
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
  left join lateral (
    select carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) fence where e.state is null) r on true
  where i.verdict = 'REFUSED';
  return v_verdicts;
end $$;
