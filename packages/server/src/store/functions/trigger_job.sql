-- Runs a job now, apart from its schedule. Overlap policies hold as for FIRE.
-- Locks: schedules, then see overlap_verdicts. Returns READY, WAIT, SKIP, or null if there is no such job.
create or replace function carillon.trigger_job(
  p_job uuid, p_id uuid, p_at bigint, p_tag bigint, p_payload text, p_traceparent text, p_now timestamptz default null)
returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_job carillon.jobs;
  v_verdict text := 'READY';
  v_recurring boolean;   -- a one-shot leaves the jobs when it fires: its definition goes into the row
begin
  perform from carillon.schedules s where s.job_id = p_job for update;
  select * into v_job from carillon.jobs j where j.job_id = p_job and j.state <> 'DELETED';
  if not found then
    return null;
  end if;
  v_recurring := v_job.type in ('CRON', 'INTERVAL');
  if v_job.overlap <> 'ALLOW' then
    v_verdict := (carillon.overlap_verdicts(array[p_job], array[p_id], array[v_job.overlap], true, v_now))[1];
    if v_verdict = 'BUSY' then
      raise exception 'carillon: an execution to be replaced has just moved' using errcode = '40001';
    end if;
  end if;
  insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin, guarded,
    scheduled_for, due_at, fired_at, expires_at, deadline_at, name, payload, policy, labels, traceparent, state, reason,
    finished_at)
  values (p_id, p_job, case when v_recurring then v_job.version end, v_job.tenant, v_job.pool, v_job.lane, v_job.handler,
    case v_verdict when 'READY' then p_tag else -1 end, 'TRIGGER', v_job.overlap <> 'ALLOW', carillon.at(p_at),
    carillon.at(p_at), v_now, v_now + v_job.start_within_sec * interval '1 second',
    v_now + v_job.deadline_sec * interval '1 second', case when not v_recurring then v_job.name end,
    coalesce(p_payload, case when not v_recurring then v_job.payload end),
    case when not v_recurring then v_job.policy end, v_job.labels, p_traceparent,
    case v_verdict when 'SKIP' then 'SKIPPED' end, case v_verdict when 'SKIP' then 'OVERLAP' end,
    case v_verdict when 'SKIP' then v_now end);
  perform carillon.tell_executions(array[p_id], 'fired', null, v_now);
  if v_verdict = 'SKIP' then
    insert into carillon.endings (execution_id, tenant, state) values (p_id, v_job.tenant, 'SKIPPED');
    return v_verdict;
  end if;
  insert into carillon.deadlines (execution_id, kind, due)
  select p_id, d.kind, d.due from (values
    ('START', v_now + v_job.start_within_sec * interval '1 second'),
    ('FINISH', v_now + v_job.deadline_sec * interval '1 second')) d(kind, due) where d.due is not null;
  if v_verdict = 'READY' then
    insert into carillon.ready (pool, lane, tag, execution_id) values (v_job.pool, v_job.lane, p_tag, p_id);
  else
    insert into carillon.waiting (execution_id, key) values (p_id, 'job:' || p_job);
  end if;
  return v_verdict;
end $$;
