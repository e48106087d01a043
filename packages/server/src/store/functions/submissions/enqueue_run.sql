-- A run of a graph in the caller's own transaction, from any language: it is started if and only if that transaction commits. One row, as
-- carillon.enqueue writes it, whose execution starts the run and ends as it does.
--
--   select carillon.enqueue_run('nightly', '{"day": "2030-01-31"}');
--
-- SECURITY DEFINER: as carillon.enqueue.
create or replace function carillon.enqueue_run(
  dag text, payload json default null, tenant text default 'default', priority text default 'NORMAL', run_at timestamptz default null,
  labels jsonb default null, traceparent text default null, name text default null)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  v_id uuid;
begin
  -- Before it says whether there is such a graph.
  if not carillon.may_act_for(tenant) then
    raise exception 'carillon.enqueue_run: role % may not enqueue for tenant %',
      coalesce(nullif(current_setting('role'), 'none'), session_user), tenant using errcode = '42501',
      hint = 'The owner of the schema allows it: select carillon.allow_tenant(role, tenant).';
  elsif not exists (
    select from carillon.dags d where d.tenant = enqueue_run.tenant and d.state = 'ACTIVE'
      and (d.key = enqueue_run.dag or d.dag_id::text = lower(enqueue_run.dag))) then
    raise exception 'carillon.enqueue_run: graph % does not exist', coalesce(dag, 'null') using errcode = '22023',
      hint = 'Check its id or key, or create it first.';
  end if;
  -- The policy is that of jobs/policy.ts for runs.
  v_id := carillon.enqueue(handler => 'carillon.dag', payload => payload, pool => 'carillon.dag', tenant => tenant, priority => priority,
    run_at => run_at, policy => '{"timeoutSec": 31622400, "retryPolicy": {"maxAttempts": 1}, "cancelGraceSec": 3600}', labels => labels,
    traceparent => traceparent, name => coalesce(name, dag));
  update carillon.submissions s set policy = s.policy || jsonb_build_object('target', jsonb_build_object('dag', dag))
  where s.execution_id = v_id;
  return v_id;
end $$;
comment on function carillon.enqueue_run(text, json, text, text, timestamptz, jsonb, text, text) is
'Starts a run of a graph if and only if the caller''s transaction commits, and answers the id of the execution that stands for it.
dag: its id or key. payload: what the run is given. tenant: "default" unless given. The rest as carillon.enqueue.
Raises 22023 for a wrong argument, 42501 if the role may not name the tenant (carillon.allow_tenant).';
