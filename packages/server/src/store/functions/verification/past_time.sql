-- Executions that are past a time at which the engine should have moved them on, wherever in history they lie. At most p_limit.
-- p_lost_ms: see verify_rows. No locks. Indexes: retries_due, submissions_due, deadlines_due; the leases are read whole: once a minute.
create or replace function carillon.past_time(p_lost_ms float8, p_limit int, p_now timestamptz default null)
returns table (execution_id uuid, job_id uuid, tenant text, scheduled_for bigint, why text)
language plpgsql stable
set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_due timestamptz := v_now - interval '2 minutes';
  v_ids uuid[];
begin
  v_ids := array(
    select r.execution_id from carillon.running r
    where r.overdue_at < v_due
      or r.began and r.heartbeat_at + r.heartbeat_timeout_sec * interval '1 second' < v_due
      or r.leased_at + p_lost_ms * interval '1 millisecond' < v_due and r.worker_id not in (
        select w.worker_id from carillon.workers w where w.seen_at + p_lost_ms * interval '1 millisecond' >= v_due)
    limit p_limit)
    || array(select t.execution_id from carillon.retries t where t.due < v_due order by t.due limit p_limit)
    || array(select d.execution_id from carillon.deadlines d where d.due < v_due order by d.due limit p_limit);
  return query
  select x.execution_id, x.job_id, x.tenant, x.scheduled_for, x.why from (
    select o.execution_id, o.job_id, o.tenant, carillon.ms(o.scheduled_for) scheduled_for, o.why
    from carillon.why_open(array(select distinct i from unnest(v_ids) i), p_lost_ms, v_due) o
    union all
    (select u.execution_id, coalesce(u.job_id, u.execution_id), u.tenant, carillon.ms(u.run_at), 'NOT_FIRED' from carillon.submissions u
     where u.run_at < v_due and not carillon.is_quarantined(u.execution_id) order by u.run_at limit p_limit)) x
  where x.why in ('ATTEMPT_OVERDUE', 'WORKER_LOST', 'RETRY_OVERDUE', 'START_OVERDUE', 'DEADLINE_PASSED', 'NOT_FIRED')
  limit p_limit;
end $$;
