-- Runs a job now, apart from its schedule. Overlap policies hold as for FIRE.
-- p_payload: instead of the job's own. p_after: the execution that it follows; p_given: its payload then, if the job has none of its own.
-- p_skip: the reason why it does not run, and is only put on record.
-- Locks: schedules, then see overlap_verdicts. Returns READY, WAIT, SKIP, or null if there is no such job.
create or replace function carillon.trigger_job(
  p_job uuid, p_id uuid, p_at bigint, p_tag bigint, p_payload text, p_traceparent text, p_now timestamptz default null,
  p_after uuid default null, p_given text default null, p_skip text default null)
returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_job carillon.jobs;
  v_verdict text := case when p_skip is null then 'READY' else 'SKIP' end;
  v_birth carillon.birth;
  v_recurring boolean;   -- a one-shot leaves the jobs when it fires: its definition goes into the row
  v_payload text;   -- that of the row
begin
  perform from carillon.schedules s where s.job_id = p_job for update;
  select * into v_job from carillon.jobs j where j.job_id = p_job and j.state <> 'DELETED';
  if not found then
    return null;
  end if;
  v_recurring := v_job.type in ('CRON', 'INTERVAL', 'AFTER');
  v_payload := coalesce(p_payload, case when coalesce(v_job.payload, 'null') = 'null' then p_given end);
  if v_job.overlap <> 'ALLOW' and p_skip is null then
    v_verdict := (carillon.overlap_verdicts(array[p_job], array[p_id], array[v_job.overlap], true, v_now))[1];
    if v_verdict = 'BUSY' then
      raise exception 'carillon: an execution to be replaced has just moved' using errcode = '40001';
    end if;
  end if;
  v_birth := (select b::carillon.birth from (
    select p_id id, p_job job_id, case when v_recurring then v_job.version end job_version, v_job.tenant,
      case when not v_recurring then v_job.name end "name", v_job.pool, v_job.lane, v_job.handler, p_tag tag,
      v_job.overlap <> 'ALLOW' and p_skip is null guarded, carillon.at(p_at) scheduled_for, carillon.at(p_at) due_at,
      v_now + v_job.start_within_sec * interval '1 second' expires_at, d.deadline_at,
      coalesce(v_payload, case when not v_recurring then v_job.payload end) payload,
      case when not v_recurring then v_job.policy end policy, v_job.labels, p_traceparent traceparent,
      case v_verdict when 'SKIP' then 'SKIPPED' end state, case v_verdict when 'SKIP' then coalesce(p_skip, 'OVERLAP') end reason,
      null::timestamptz skipped_last, null::int skipped_count, case when p_after is not null then jsonb_build_array(
        jsonb_strip_nulls(jsonb_build_object('at', carillon.ms(v_now), 'to', case v_verdict when 'SKIP' then 'SKIPPED' else 'PENDING' end,
          'reason', case v_verdict when 'SKIP' then coalesce(p_skip, 'OVERLAP') end, 'after', p_after))) end history,
      case v_verdict when 'WAIT' then 'job:' || p_job end "key", v_job.policy rules, carillon.birth_text(p_id, p_job, v_job.tenant,
        v_job.pool, v_job.handler, p_at, p_at, d.deadline_at, v_job.policy, coalesce(v_payload, v_job.payload), v_job.labels,
        p_traceparent) body
    from (select v_now + v_job.deadline_sec * interval '1 second' deadline_at) d) b);
  perform carillon.create_executions(v_now, 'TRIGGER', array[v_birth], p_fresh => true);
  return v_verdict;
end $$;
