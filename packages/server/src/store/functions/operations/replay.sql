-- REPLAY: a person runs DEAD or CANCELLED executions again, with all their attempts. They re-enter
-- through `retries`. A job that limits overlap counts a replay like anything else: one that would overlap stays.
-- Start window and deadline were those of the first life; the sweeper passes over what is left of them.
-- Locks: schedules by id, executions by id (those asked for and those live of the same jobs, in one go), endings, retries.
create or replace function carillon.replay(p_ids uuid[], p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text)   -- REPLAYED, OVERLAP, NOT_ENDED, TOO_OLD, STEP
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_jobs uuid[];
  v_row record;
begin
  v_jobs := array(
    select s.job_id from carillon.schedules s
    where s.job_id = any (array(select e.job_id from unnest(p_ids) i join carillon.executions e on e.execution_id = i
                                where e.job_id <> e.execution_id))
    order by s.job_id for update);
  perform from unnest(p_ids || array(
    select l from carillon.schedules s cross join unnest(s.live) l where s.job_id = any (v_jobs))) i
  join carillon.executions e on e.execution_id = i
  order by e.execution_id for no key update of e;
  for v_row in
    select e.execution_id, e.job_id, e.origin, e.tenant, e.pool, e.lane, e.state, j.overlap, n.floor_id, n.shard_count
    from (select distinct i from unnest(p_ids) i) i join carillon.executions e on e.execution_id = i.i
    cross join carillon.installation n left join carillon.jobs j on j.job_id = e.job_id
    order by e.execution_id
  loop
    execution_id := v_row.execution_id;
    if v_row.state is null or v_row.state not in ('DEAD', 'CANCELLED') then
      verdict := 'NOT_ENDED';
    elsif v_row.origin = 'DAG' then
      verdict := 'STEP';   -- those that waited for it have been told: its run is retried instead
    elsif v_row.execution_id < v_row.floor_id then
      verdict := 'TOO_OLD';   -- its partition is going
    elsif v_row.overlap <> 'ALLOW' and 'SKIP' = all (carillon.overlap_verdicts(
        array[v_row.job_id], array[v_row.execution_id], array['FORBID'], false, v_now)) then
      verdict := 'OVERLAP';
    else
      verdict := 'REPLAYED';
      update carillon.executions e
      set state = null, reason = null, finished_at = null, attempt = 0, releases = 0, result = null, error = null,
        expires_at = null, deadline_at = null, guarded = coalesce(v_row.overlap <> 'ALLOW', false),
        history = carillon.with_entry(e.history, jsonb_build_object('at', carillon.ms(v_now), 'to', 'PENDING',
          'actor', p_actor, 'reason', 'REPLAYED'))
      where e.execution_id = v_row.execution_id;
      delete from carillon.endings n where n.execution_id = v_row.execution_id;
      perform carillon.return_later(array[v_row.execution_id], v_now, 'PENDING');
      perform carillon.tell_executions(array[v_row.execution_id], 'retrying', p_actor, v_now);
    end if;
    return next;
  end loop;
end $$;
