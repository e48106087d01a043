-- Brings executions that are DEAD or CANCELLED back, by a person's wish, with all their attempts again. They re-enter
-- through `retries`. A job that limits overlap counts a replay like anything else: one that would overlap stays.
-- Locks: schedules of such jobs by id, executions by id, endings, retries.
create or replace function carillon.replay(p_ids uuid[], p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text)   -- REPLAYED, OVERLAP, NOT_ENDED
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_row record;
begin
  perform from carillon.schedules s
  where s.job_id in (select e.job_id from carillon.executions e where e.execution_id = any (p_ids) and e.guarded)
  order by s.job_id for update;
  for v_row in
    select e.execution_id, e.job_id, e.guarded, e.tenant, e.pool, e.lane, e.state, j.overlap
    from carillon.executions e left join carillon.jobs j on j.job_id = e.job_id
    where e.execution_id = any (p_ids) order by e.execution_id for update of e
  loop
    execution_id := v_row.execution_id;
    if v_row.state is null or v_row.state not in ('DEAD', 'CANCELLED') then
      verdict := 'NOT_ENDED';
    elsif v_row.guarded and v_row.overlap <> 'ALLOW'
      and carillon.overlap_verdict(v_row.job_id, 'FORBID', v_row.execution_id, v_now) = 'SKIP' then
      verdict := 'OVERLAP';
    else
      verdict := 'REPLAYED';
      update carillon.executions e
      set state = null, reason = null, finished_at = null, attempt = 0, releases = 0, result = null, error = null,
        expires_at = null, deadline_at = null,
        history = coalesce(e.history, '[]') || jsonb_build_object('at', carillon.ms(v_now), 'to', 'PENDING',
          'actor', p_actor, 'reason', 'REPLAYED')
      where e.execution_id = v_row.execution_id;
      delete from carillon.endings n where n.execution_id = v_row.execution_id;
      insert into carillon.retries (execution_id, shard, due, tenant, pool, lane, state)
      select v_row.execution_id, carillon.shard_of(v_row.job_id, n.shard_count), v_now, v_row.tenant, v_row.pool,
        v_row.lane, 'PENDING' from carillon.installation n;
    end if;
    return next;
  end loop;
end $$;
