-- Lets go what waits for executions of these jobs to end, unless another live one is still in the way. It re-enters
-- through `retries`, due now, so that the shard's leader gives it a tag. Called by REPORT and by the sweeper, which
-- finds what two reports at the same moment each left to the other.
-- Locks: waiting, retries.
create or replace function carillon.release_waiting(p_jobs uuid[], p_now timestamptz) returns timestamptz
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_due timestamptz;
begin
  with free as (
    select distinct on (w.key) w.execution_id, s.shard
    from unnest(p_jobs) i(job_id)
    join carillon.schedules s on s.job_id = i.job_id
    join carillon.waiting w on w.key = 'job:' || i.job_id
    where not exists (
      select from unnest(s.live) l(execution_id)
      join carillon.executions x on x.execution_id = l.execution_id
      where x.state is null and not exists (select from carillon.waiting y where y.execution_id = x.execution_id))
    order by w.key, w.execution_id
  ), gone as (
    delete from carillon.waiting w using free where w.execution_id = free.execution_id
    returning w.execution_id, free.shard
  ), back as (
    insert into carillon.retries (execution_id, shard, due, tenant, pool, lane, state)
    select e.execution_id, g.shard, p_now, e.tenant, e.pool, e.lane, 'PENDING'
    from gone g join carillon.executions e on e.execution_id = g.execution_id
    returning due)
  select min(due) into v_due from back;
  return v_due;
end $$;
