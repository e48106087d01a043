-- CREATE: jobs that have something to come and submissions that are due now, all or none in one transaction, with what
-- proves that they were asked for.
--
-- p_entry: the request's Idempotency-Key and answer, see claim_answer. p_stand: the dedupe key, see take_stand:
-- {tenant, key, seen, withdraw, id, firstAt, windowUntil}, and the enqueue in SQL that this settles: request {id, verdict}. p_jobs: see create_jobs; those that recur are in the audit. The rest: see
-- submit. Answers DONE; ANSWERED: the request was answered before; AGAIN: a key was taken since the caller looked; or, as JSON, the quota
-- that the tenant would exceed.
-- Locks: idempotency, dedupe_requests, job_counts, dedupes, what take_stand locks, its own rows by key.
create or replace function carillon.create_work(
  p_entry jsonb, p_stand jsonb, p_actor text, p_jobs jsonb,
  p_ids uuid[], p_tenants text[], p_names text[], p_pools text[], p_lanes smallint[], p_handlers text[], p_tags bigint[],
  p_runs_at bigint[], p_payloads text[], p_policies jsonb[], p_labels jsonb[], p_traceparents text[], p_bodies text[],
  p_now timestamptz default null)
returns text
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_made uuid[];
  v_refusal text;
begin
  if not carillon.claim_answer(p_entry, v_now) then
    return 'ANSWERED';
  end if;
  if p_stand ? 'request' then
    update carillon.dedupe_requests q
    set settled_at = v_now, verdict = p_stand #>> '{request,verdict}', execution_id = (p_stand ->> 'id')::uuid
    where q.request_id = (p_stand #>> '{request,id}')::uuid and q.settled_at is null;
    if not found then
      return 'ANSWERED';
    end if;
  end if;
  if p_stand is not null and p_jobs is not null then
    perform carillon.lock_job_count(p_jobs #>> '{0,tenant}');
  end if;
  if p_stand is not null and not carillon.take_stand(
      p_stand ->> 'tenant', p_stand ->> 'key', (p_stand ->> 'seen')::uuid, (p_stand ->> 'withdraw')::boolean,
      (p_stand ->> 'id')::uuid, (p_stand ->> 'firstAt')::bigint, (p_stand ->> 'windowUntil')::bigint, p_actor, v_now) then
    raise exception using errcode = 'CA001';
  end if;
  if p_jobs is not null then
    v_made := array(select * from carillon.create_jobs(p_jobs, p_actor));
    if cardinality(v_made) < jsonb_array_length(p_jobs) then
      raise exception using errcode = 'CA001';
    end if;
    perform carillon.tell_jobs(v_made, 'job.created', p_actor, v_now);
    insert into carillon.audit (at, tenant, actor, action, subject, detail)
    select v_now, j.tenant, p_actor, 'job.created', j.job_id, jsonb_strip_nulls(jsonb_build_object(
      'name', j.name, 'key', j.key, 'type', j.type, 'replaces',
      case when (p_stand ->> 'withdraw')::boolean then p_stand ->> 'seen' end))
    from unnest(v_made) m(job_id) join carillon.jobs j on j.job_id = m.job_id
    -- One that runs once is work that is to come: the ledger will be its record, and the audit is kept for good.
    where j.type in ('CRON', 'INTERVAL', 'AFTER') or j.key is not null;
  end if;
  if cardinality(p_ids) > 0 then
    perform carillon.submit(p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, p_tags, p_runs_at, p_payloads,
      p_policies, p_labels, p_traceparents, p_bodies, p_now);
  end if;
  return 'DONE';
exception
  when sqlstate 'CA001' then
    return 'AGAIN';   -- nothing of it has happened
  when sqlstate 'CA002' then
    get stacked diagnostics v_refusal = pg_exception_detail;
    perform carillon.note_job_count(v_refusal::jsonb);
    return v_refusal;
end $$;
