-- Releases what waits for executions of these jobs to end, unless another live one still blocks it. It re-enters
-- through `retries`, due now, so that the shard's leader gives it a tag. Called by whatever ends an execution and by the
-- sweeper, which finds what two reports at the same moment each left to the other.
-- Locks: waiting by id (SKIP LOCKED: the holder of the row lock releases or ends it), retries.
create or replace function carillon.release_waiting(p_jobs uuid[], p_now timestamptz) returns timestamptz
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  -- A one-shot left with its schedule when it fired: what is live of it is found by the job.
  v_free uuid[] := array(
    select distinct on (w.key) w.execution_id
    from unnest(p_jobs) i(job_id)
    join carillon.waiting w on w.key = 'job:' || i.job_id
    -- One without a ledger row would be released in place of one that waits.
    join carillon.executions e on e.execution_id = w.execution_id
    left join carillon.schedules s on s.job_id = i.job_id
    where not exists (
      select from unnest(case when s.job_id is not null then s.live else array(
          select y.execution_id from carillon.executions y
          where y.job_id = i.job_id and y.job_id <> y.execution_id and y.state is null) end) l
      join carillon.executions x on x.execution_id = l
      where x.state is null and not exists (
        select from carillon.waiting y where y.execution_id = x.execution_id and y.tenant is null))
    order by w.key, w.execution_id);
begin
  v_free := array(
    select w.execution_id from carillon.waiting w where w.execution_id = any (v_free)
    order by w.execution_id for update skip locked);
  if cardinality(v_free) = 0 then
    return null;
  end if;
  delete from carillon.waiting w where w.execution_id = any (v_free);
  return carillon.return_later(v_free, p_now, 'PENDING');
end $$;
