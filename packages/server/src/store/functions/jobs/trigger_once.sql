-- TRIGGER as it is asked for from outside: once for an Idempotency-Key, only of the version that the answer was made from,
-- and on record. Answers what trigger_job answers; ANSWERED: the request was answered before; AGAIN: the job was changed
-- or removed since the caller read it. One that overlap forbids gives its key back: it was refused.
-- Locks: idempotency, then what trigger_job locks.
create or replace function carillon.trigger_once(
  p_entry jsonb, p_actor text, p_job uuid, p_version int, p_id uuid, p_at bigint, p_tag bigint, p_payload text,
  p_traceparent text, p_now timestamptz default null)
returns text
language plpgsql volatile
as $$
declare
  v_verdict text;
begin
  if not carillon.claim_answer(p_entry, p_now) then
    return 'ANSWERED';
  end if;
  perform from carillon.schedules s where s.job_id = p_job and s.version = p_version for update;
  if found then
    v_verdict := carillon.trigger_job(p_job, p_id, p_at, p_tag, p_payload, p_traceparent, p_now);
  end if;
  if p_entry is not null and (v_verdict is null or v_verdict = 'SKIP') then
    perform carillon.unclaim_answer(p_entry);
  end if;
  if v_verdict is null then
    return 'AGAIN';
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  select coalesce(p_now, clock_timestamp()), j.tenant, p_actor, 'job.triggered', p_job,
    jsonb_build_object('executionId', p_id, 'outcome', v_verdict)
  from carillon.jobs j where j.job_id = p_job;
  return v_verdict;
end $$;
