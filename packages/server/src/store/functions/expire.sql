-- Start windows and deadlines whose time has come. What has not started is ended here; what runs is told to stop and
-- ends through REPORT. Called by the sweeper.
-- Locks: deadlines (SKIP LOCKED), running, executions, waiting, retries, ready.
create or replace function carillon.expire_due(p_limit int, p_now timestamptz default null)
returns table (execution_id uuid, kind text, verdict text, worker_id uuid, fence bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_due record;
begin
  for v_due in
    with due as (
      select d.execution_id, d.kind from carillon.deadlines d where d.due <= v_now
      order by d.due limit p_limit for update skip locked)
    delete from carillon.deadlines d using due where d.execution_id = due.execution_id and d.kind = due.kind
    returning d.execution_id, d.kind
  loop
    execution_id := v_due.execution_id;
    kind := v_due.kind;
    if kind = 'START' and (
        exists (select from carillon.running r where r.execution_id = v_due.execution_id)
        or exists (select from carillon.executions e where e.execution_id = v_due.execution_id and (e.state is not null or e.attempt > 0))) then
      continue;   -- it started in time
    end if;
    select c.verdict, c.worker_id, c.fence into verdict, worker_id, fence
    from carillon.cancel(array[v_due.execution_id], case kind when 'START' then 'EXPIRED' else 'DEADLINE' end, 'sweeper', v_now) c;
    if verdict = 'CANCELLED' then
      verdict := case kind when 'START' then 'SKIPPED' else 'DEAD' end;
      update carillon.executions e set state = verdict where e.execution_id = v_due.execution_id;
      update carillon.endings n set state = verdict where n.execution_id = v_due.execution_id;
    end if;
    return next;
  end loop;
end $$;
