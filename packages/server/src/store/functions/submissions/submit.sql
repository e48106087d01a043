-- SUBMIT: a submission that is due now does at once what FIRE does for a schedule: ledger row and ready row.
-- Each row is a new execution with a new id: one that exists already is an error.
-- p_bodies: what the worker gets, as body_text makes it, but for the deadline, which counts from now; null: it is made when it is leased.
-- Locks: none but its own rows. Figures (test/integration/plans): 8 buffers a row. [m] 1,000: median 17 to 20 ms of CPU.
create or replace function carillon.submit(
  p_ids uuid[], p_tenants text[], p_names text[], p_pools text[], p_lanes smallint[], p_handlers text[], p_tags bigint[],
  p_runs_at bigint[], p_payloads text[], p_policies jsonb[], p_labels jsonb[], p_traceparents text[], p_bodies text[],
  p_now timestamptz default null)
returns table (inserted int)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_births carillon.birth[];
begin
  select array_agg(b::carillon.birth) into v_births from (
    select i.id, i.id job_id, null::int job_version, i.tenant, i.name, i.pool, i.lane, i.handler, i.tag, false guarded,
      carillon.at(i.run_at) scheduled_for, carillon.at(i.run_at) due_at,
      carillon.at(i.run_at) + (i.policy ->> 'startWithinSec')::int * interval '1 second' expires_at,
      v_now + (i.policy ->> 'deadlineSec')::int * interval '1 second' deadline_at, i.payload, i.policy, i.labels, i.traceparent,
      null::text state, null::text reason, null::timestamptz skipped_last, null::int skipped_count, null::jsonb history, null::text "key",
      i.policy rules, i.body || coalesce(',"deadlineAt":' || carillon.ms(v_now + (i.policy ->> 'deadlineSec')::int * interval '1 second'),
        '') body
    from unnest(p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, p_tags, p_runs_at, p_payloads, p_policies, p_labels,
      p_traceparents, p_bodies) i(id, tenant, name, pool, lane, handler, tag, run_at, payload, policy, labels, traceparent, body)) b;
  inserted := cardinality(carillon.create_executions(v_now, 'SUBMIT', v_births, p_fresh => true));
  return next;
end $$;
