-- Start windows and deadlines whose time has come, but for those of runs: see expire_runs. What has not started is ended here; what runs past its deadline is
-- told to stop and ends through REPORT. What a concurrent end has locked keeps its entry for the next sweep. An
-- entry counts only if the ledger still says so: a replay begins without. p_only: nothing but these, to find which one makes a
-- call fail.
-- Locks: deadlines (SKIP LOCKED), leases by id (SKIP LOCKED), then see end_pending.
create or replace function carillon.expire_due(p_limit int, p_now timestamptz default null, p_only uuid[] default null)
returns table (execution_id uuid, kind text, verdict text, worker_id uuid, fence bigint)   -- FLAGGED, SKIPPED, DEAD
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[];
  v_kinds text[];
  v_late uuid[];
  v_unstarted uuid[];
  v_flagged uuid[] := '{}';
  v_ended uuid[];
begin
  select array_agg(d.execution_id), array_agg(d.kind) into v_ids, v_kinds from (
    select d.execution_id, d.kind from carillon.deadlines d where d.due <= v_now and d.kind <> 'RUN' and (p_only is null or d.execution_id = any (p_only))
    order by d.due limit p_limit for update skip locked) d;
  if v_ids is null then
    return;
  end if;
  v_late := array(
    select e.execution_id from unnest(v_ids, v_kinds) i(execution_id, kind)
    join carillon.executions e on e.execution_id = i.execution_id
    where i.kind = 'FINISH' and e.state is null and e.deadline_at <= v_now);
  kind := 'FINISH';
  verdict := 'FLAGGED';
  for execution_id, worker_id, fence in select f.* from carillon.flag_running(v_late, 'DEADLINE', 'sweeper', v_now) f loop
    v_flagged := v_flagged || execution_id;
    return next;
  end loop;
  v_late := array(select l from unnest(v_late) l where l <> all (v_flagged));
  v_unstarted := array(
    select e.execution_id from unnest(v_ids, v_kinds) i(execution_id, kind)
    join carillon.executions e on e.execution_id = i.execution_id
    where i.kind = 'START' and e.state is null and e.expires_at <= v_now and e.execution_id <> all (v_late)
      -- Else it was leased in time, though it may have been handed back since.
      and e.attempt + e.releases = 0 and carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is null);
  v_ended := carillon.end_pending(v_late || v_unstarted,
    array_fill('DEAD'::text, array[cardinality(v_late)]) || array_fill('SKIPPED'::text, array[cardinality(v_unstarted)]),
    array_fill('DEADLINE'::text, array[cardinality(v_late)]) || array_fill('EXPIRED'::text, array[cardinality(v_unstarted)]),
    'sweeper', v_now);
  delete from carillon.deadlines d using unnest(v_ids, v_kinds) i(execution_id, kind)
  where d.execution_id = i.execution_id and d.kind = i.kind
    and (d.execution_id <> all (v_late || v_unstarted) or d.execution_id = any (v_ended));
  return query
  select e, case when e = any (v_late) then 'FINISH' else 'START' end, case when e = any (v_late) then 'DEAD' else 'SKIPPED' end,
    null::uuid, null::bigint from unnest(v_ended) e;
end $$;
