-- Executions as people see them, in the order asked; one that is not the tenant's is left out. The state is the ledger's
-- outcome, else the table that holds the row, else PENDING: one snapshot sees all of them, so a row on its way from one to
-- the next is found. What has ended is in no other table, and the definition of a submission is in its row: then it is one look
-- into one index. A key that is null costs no look.
-- Locks: none. Indexes: executions_pkey, leases_tag, retries_pkey, jobs_by_id, job_versions_pkey. Times in milliseconds.
-- [m] Single reads over HTTP, 64 at a time: 58 µs of the server's CPU each; with statements of its own for each 83.
create or replace function carillon.read_executions(p_tenants text[], p_ids uuid[])
returns table (
  ordinal bigint, execution_id uuid, job_id uuid, job_version int, name text, tenant text, pool text, lane smallint,
  handler text, origin text, scheduled_for bigint, due_at bigint, fired_at bigint, started_at bigint, finished_at bigint,
  state text, reason text, attempt int, worker_id uuid, fence bigint, progress text, result text, payload text,
  policy jsonb, error jsonb, labels jsonb, traceparent text, skipped_count int, history jsonb)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  return query
  select i.ordinal, e.execution_id, e.job_id, e.job_version, coalesce(e.name, j.name, v.name), e.tenant, e.pool, e.lane,
    e.handler, e.origin, carillon.ms(e.scheduled_for), carillon.ms(e.due_at), carillon.ms(e.fired_at),
    carillon.ms(case when e.state is not null then e.started_at else r.leased_at end), carillon.ms(e.finished_at),
    coalesce(e.state, case when r.execution_id is not null then 'RUNNING' end, t.state, case when b.execution_id is not null then 'BLOCKED' end,
      'PENDING'), e.reason,
    coalesce(r.attempt, e.attempt), coalesce(r.worker_id, e.worker_id), coalesce(r.fence, e.fence),
    coalesce(r.progress, e.progress), e.result, coalesce(e.payload, j.payload, v.payload),
    coalesce(e.policy, j.policy, v.policy), e.error, e.labels, e.traceparent, e.skipped_count, e.history
  from unnest(p_tenants, p_ids) with ordinality i(tenant, execution_id, ordinal)
  join carillon.executions e on e.execution_id = i.execution_id and e.tenant = i.tenant
  left join carillon.retries t on t.execution_id = case when e.state is null then e.execution_id end
  left join carillon.blocked b on b.execution_id = case when e.state is null and e.origin = 'DAG' then e.execution_id end
  left join lateral (
    select * from carillon.held(e) where e.state is null and t.execution_id is null) r on true
  left join carillon.jobs j on j.job_id = case when e.job_version is not null then e.job_id end
    and j.version = e.job_version
  left join carillon.job_versions v on v.job_id = case when j.job_id is null then e.job_id end
    and v.version = e.job_version;
end $$;
