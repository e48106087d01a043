-- SUBMIT: a submission that is due now does at once what FIRE does for a schedule: ledger row and ready row.
-- What has no policy (p_policies is null if none has one) has no deadline: what was written is not read again for them.
-- Each row is a new execution with an id of its own, which nobody else makes: one that is there already is an error.
-- Locks: none but its own rows. Figures (test/integration/plans): 8 buffers a row. [m] 1,000: median 17 to 20 ms of CPU.
create or replace function carillon.submit(
  p_ids uuid[], p_tenants text[], p_names text[], p_pools text[], p_lanes smallint[], p_handlers text[], p_tags bigint[],
  p_runs_at bigint[], p_payloads text[], p_policies jsonb[], p_labels jsonb[], p_traceparents text[],
  p_now timestamptz default null)
returns table (inserted int)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  with born as (
    insert into carillon.executions (execution_id, job_id, tenant, name, pool, lane, handler, tag, origin,
      scheduled_for, due_at, fired_at, expires_at, deadline_at, payload, policy, labels, traceparent)
    select i.id, i.id, i.tenant, i.name, i.pool, i.lane, i.handler, i.tag, 'SUBMIT',
      carillon.at(i.run_at), carillon.at(i.run_at), v_now,
      carillon.at(i.run_at) + (i.policy ->> 'startWithinSec')::int * interval '1 second',
      v_now + (i.policy ->> 'deadlineSec')::int * interval '1 second',
      i.payload, i.policy, i.labels, i.traceparent
    from unnest(p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, p_tags, p_runs_at, p_payloads, p_policies,
      p_labels, p_traceparents)
      i(id, tenant, name, pool, lane, handler, tag, run_at, payload, policy, labels, traceparent)
    returning execution_id, pool, lane, tag, expires_at, deadline_at, tenant, name, handler, due_at
  ), in_deadlines as (
    insert into carillon.deadlines (execution_id, kind, due)
    select b.execution_id, 'START', b.expires_at from born b where p_policies is not null and b.expires_at is not null
    union all
    select b.execution_id, 'FINISH', b.deadline_at from born b where p_policies is not null and b.deadline_at is not null
  ), in_ready as (
    insert into carillon.ready (pool, lane, tag, execution_id)
    select b.pool, b.lane, b.tag, b.execution_id from born b
    returning 1
  ), in_events as (
    insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
    select v_now, b.tenant, 'execution.fired', b.execution_id, b.execution_id, carillon.fired_detail(
      b.name, b.handler, b.pool, 'SUBMIT', b.due_at, b.due_at, null, null)
    from born b join carillon.event_listeners l on l.tenant = b.tenant and l.until > v_now
    where exists (select from carillon.event_listeners h where h.until > v_now))
  select count(*) into inserted from in_ready;
  return next;
end $$;
