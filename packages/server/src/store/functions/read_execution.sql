-- One execution as people see it. Its state is the ledger's outcome, else the table that holds the row, else PENDING. What has
-- ended stands nowhere else, and the definition of a submission is in its row: then it is one look into one index.
-- Statements of its own, not joins: a plan made while `jobs` was small reads all of it ever after.
-- Locks: none. Indexes: executions_pkey, running_pkey, retries_pkey, jobs_by_id, job_versions_pkey. Times in milliseconds.
create or replace function carillon.read_execution(p_tenant text, p_id uuid)
returns table (
  execution_id uuid, job_id uuid, job_version int, name text, tenant text, pool text, lane smallint, handler text,
  origin text, scheduled_for bigint, due_at bigint, fired_at bigint, started_at bigint, finished_at bigint, state text,
  reason text, attempt int, worker_id uuid, fence bigint, progress text, result text, payload text, policy jsonb,
  error jsonb, labels jsonb, traceparent text, skipped_count int, history jsonb)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  e carillon.executions;
  r carillon.running;
  v_back text;
begin
  select * into e from carillon.executions x where x.execution_id = p_id;
  if e.tenant is distinct from p_tenant then
    return;
  end if;
  name := e.name;
  payload := e.payload;
  policy := e.policy;
  if e.job_version is not null then
    select coalesce(e.name, j.name), coalesce(e.payload, j.payload), coalesce(e.policy, j.policy) into name, payload, policy
    from carillon.jobs j where j.job_id = e.job_id and j.version = e.job_version;
    if not found then
      select coalesce(e.name, v.name), coalesce(e.payload, v.payload), coalesce(e.policy, v.policy) into name, payload, policy
      from carillon.job_versions v where v.job_id = e.job_id and v.version = e.job_version;
    end if;
  end if;
  if e.state is null then
    select * into r from carillon.running x where x.execution_id = p_id;
    if r.execution_id is null then
      select t.state into v_back from carillon.retries t where t.execution_id = p_id;
    end if;
  end if;
  execution_id := e.execution_id;
  job_id := e.job_id;
  job_version := e.job_version;
  tenant := e.tenant;
  pool := e.pool;
  lane := e.lane;
  handler := e.handler;
  origin := e.origin;
  scheduled_for := carillon.ms(e.scheduled_for);
  due_at := carillon.ms(e.due_at);
  fired_at := carillon.ms(e.fired_at);
  started_at := carillon.ms(case when e.state is not null then e.started_at else r.leased_at end);
  finished_at := carillon.ms(e.finished_at);
  state := coalesce(e.state, case when r.execution_id is not null then 'RUNNING' end, v_back, 'PENDING');
  reason := e.reason;
  attempt := coalesce(r.attempt, e.attempt);
  worker_id := coalesce(r.worker_id, e.worker_id);
  fence := coalesce(r.fence, e.fence);
  progress := coalesce(r.progress, e.progress);
  result := e.result;
  error := e.error;
  labels := e.labels;
  traceparent := e.traceparent;
  skipped_count := e.skipped_count;
  history := e.history;
  return next;
end $$;
