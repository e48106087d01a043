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
  v_birth carillon.birth;
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
  v_birth := (select b::carillon.birth from (
    select p_id id, p_job job_id, case when v_recurring then v_job.version end job_version, v_job.tenant,
      case when not v_recurring then v_job.name end "name", v_job.pool, v_job.lane, v_job.handler, p_tag tag,
      v_job.overlap <> 'ALLOW' guarded, carillon.at(p_at) scheduled_for, carillon.at(p_at) due_at,
      v_now + v_job.start_within_sec * interval '1 second' expires_at, d.deadline_at,
      coalesce(p_payload, case when not v_recurring then v_job.payload end) payload,
      case when not v_recurring then v_job.policy end policy, v_job.labels, p_traceparent traceparent,
      case v_verdict when 'SKIP' then 'SKIPPED' end state, case v_verdict when 'SKIP' then 'OVERLAP' end reason,
      null::timestamptz skipped_last, null::int skipped_count, null::jsonb history,
      case v_verdict when 'WAIT' then 'job:' || p_job end "key", v_job.policy rules, carillon.birth_text(p_id, p_job, v_job.tenant,
        v_job.pool, v_job.handler, p_at, p_at, d.deadline_at, v_job.policy, coalesce(p_payload, v_job.payload), v_job.labels,
        p_traceparent) body
    from (select v_now + v_job.deadline_sec * interval '1 second' deadline_at) d) b);
  perform carillon.create_executions(v_now, 'TRIGGER', array[v_birth], p_fresh => true);
  return v_verdict;
end $$;
