-- What a new execution of a job that limits overlap may do: READY, WAIT or SKIP. The caller holds the job's schedule
-- row, so two of them never decide at once.
--
-- The live executions are locked FOR SHARE before they are judged. A REPORT that is ending one either committed
-- before (it is not live any more) or waits for us and then, in a later statement, finds what we put into `waiting`.
-- Locks: running (through cancel), executions by id.
create or replace function carillon.overlap_verdict(p_job uuid, p_policy text, p_id uuid, p_now timestamptz)
returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_live uuid[];
  v_waiting boolean;
  v_verdict text;
begin
  select s.live into v_live from carillon.schedules s where s.job_id = p_job;
  if p_policy = 'REPLACE' and cardinality(v_live) > 0 then
    perform carillon.cancel(v_live, 'REPLACED', 'scheduler', p_now);
  end if;
  perform from carillon.executions e where e.execution_id = any (v_live) order by e.execution_id for share;
  v_live := array(select e.execution_id from carillon.executions e
                  where e.execution_id = any (v_live) and e.state is null and e.execution_id <> p_id
                  order by e.execution_id);
  if cardinality(v_live) = 0 then
    v_verdict := 'READY';
  elsif p_policy = 'FORBID' then
    v_verdict := 'SKIP';
  else
    v_waiting := exists (select from carillon.waiting w where w.execution_id = any (v_live));
    v_verdict := case when v_waiting and p_policy = 'QUEUE_ONE' then 'SKIP' else 'WAIT' end;
  end if;
  update carillon.schedules s
  set live = case when v_verdict = 'SKIP' then v_live else v_live || p_id end
  where s.job_id = p_job;
  return v_verdict;
end $$;
