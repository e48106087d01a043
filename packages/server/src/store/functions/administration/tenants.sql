-- What is declared about a tenant, for the audit: what it does not have is left out.
create or replace function carillon.tenant_detail(p_tenant carillon.tenants) returns jsonb
language sql immutable
as $$
  select jsonb_build_object('weight', p_tenant.weight, 'description', p_tenant.description) || jsonb_strip_nulls(jsonb_build_object(
    'jitterSec', p_tenant.jitter_sec,
    'maxJobs', p_tenant.max_jobs, 'submissionsPerSec', p_tenant.submissions_per_sec, 'maxPools', p_tenant.max_pools,
    'maxWorkers', p_tenant.max_workers, 'maxIdempotencyKeys', p_tenant.max_idempotency_keys,
    'maxEventStreams', p_tenant.max_event_streams))
$$;

-- Declares a tenant, or changes what is declared. p_declared has the columns of carillon.tenants. Answers CREATED, UPDATED or UNCHANGED and
-- the tenant as it is now; or MISMATCH if a version was asked for and there is another one, or none.
-- Locks: the tenant's row, then its row in job_counts.
create or replace function carillon.declare_tenant(p_declared jsonb, p_version int, p_actor text, p_now timestamptz default null)
returns table (verdict text, tenant carillon.tenants)
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_given carillon.tenants := jsonb_populate_record(null::carillon.tenants, p_declared);
  v_old carillon.tenants;
  v_new carillon.tenants;
begin
  select * into v_old from carillon.tenants t where t.name = v_given.name for update;
  if not found and p_version is null then
    v_given.version := 1;
    v_given.created_at := v_now;
    v_given.updated_at := v_now;
    insert into carillon.tenants select v_given.* on conflict do nothing returning * into v_new;
    if found then
      insert into carillon.audit (at, actor, action, subject, detail)
      values (v_now, p_actor, 'tenant.created', v_given.name, carillon.tenant_detail(v_new));
      return query select 'CREATED', v_new;
      return;
    end if;
    -- A concurrent call has declared it since.
    select * into v_old from carillon.tenants t where t.name = v_given.name for update;
  end if;
  if p_version is not null and v_old.version is distinct from p_version then
    return query select 'MISMATCH', v_old;
    return;
  end if;
  v_given.version := v_old.version;
  v_given.created_at := v_old.created_at;
  v_given.updated_at := v_old.updated_at;
  if v_given is not distinct from v_old then
    return query select 'UNCHANGED', v_old;
    return;
  end if;
  update carillon.tenants t
  set weight = v_given.weight, description = v_given.description, jitter_sec = v_given.jitter_sec, max_jobs = v_given.max_jobs,
    submissions_per_sec = v_given.submissions_per_sec, max_pools = v_given.max_pools, max_workers = v_given.max_workers,
    max_idempotency_keys = v_given.max_idempotency_keys, max_event_streams = v_given.max_event_streams,
    version = t.version + 1, updated_at = v_now
  where t.name = v_given.name returning * into v_new;
  if v_new.max_jobs is distinct from v_old.max_jobs then
    delete from carillon.job_counts c where c.tenant = v_given.name;
  end if;
  insert into carillon.audit (at, actor, action, subject, detail)
  values (v_now, p_actor, 'tenant.updated', v_given.name,
    carillon.tenant_detail(v_new) || jsonb_build_object('before', carillon.tenant_detail(v_old)));
  return query select 'UPDATED', v_new;
end $$;

-- Takes back the declaration of a tenant that has nothing any more. Answers DELETED, UNKNOWN, MISMATCH, or what the tenant still has: JOBS,
-- GRAPHS, EXECUTIONS, POOLS or TOKENS. Its limits go with it: nothing is left that they could count. Reads everything that is unfinished.
-- Locks: the tenant's row, its limits, then its rows in job_counts and submission_budgets.
create or replace function carillon.delete_tenant(p_name text, p_version int, p_actor text, p_now timestamptz default null)
returns table (verdict text, version int)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_tenant carillon.tenants;
  v_has text;
begin
  select * into v_tenant from carillon.tenants t where t.name = p_name for update;
  if not found then
    return query select 'UNKNOWN', null::int;
    return;
  elsif p_version is not null and v_tenant.version <> p_version then
    return query select 'MISMATCH', v_tenant.version;
    return;
  end if;
  v_has := case
    when exists (select from carillon.jobs j where j.tenant = p_name and j.state in ('ACTIVE', 'PAUSED')) then 'JOBS'
    when exists (select from carillon.dags d where d.tenant = p_name and d.state <> 'DELETED') then 'GRAPHS'
    when exists (select from carillon.retries r where r.tenant = p_name)
      or exists (select from carillon.submissions u where u.tenant = p_name)
      or exists (select from carillon.dedupe_requests q where q.tenant = p_name and q.settled_at is null)
      or exists (
        select from (
          select r.execution_id from carillon.ready r
          union all select r.execution_id from carillon.running r
          union all select w.execution_id from carillon.waiting w
          union all select b.execution_id from carillon.blocked b) unfinished
        -- One by one, by the primary key: a join would be planned as a scan of the whole history.
        where (select e.tenant from carillon.executions e where e.execution_id = unfinished.execution_id) = p_name) then 'EXECUTIONS'
    when exists (select from carillon.pools o where o.tenant = p_name) then 'POOLS'
    when exists (select from carillon.api_keys k where k.tenant = p_name and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > v_now)) then 'TOKENS'
  end;
  if v_has is not null then
    return query select v_has, v_tenant.version;
    return;
  end if;
  with gone as (delete from carillon.limits l where l.tenant = p_name returning l.*)
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  select v_now, p_name, p_actor, 'limit.deleted', g.name, jsonb_build_object('before', carillon.told_limit(g::carillon.limits)) from gone g;
  delete from carillon.tenants t where t.name = p_name;
  delete from carillon.job_counts c where c.tenant = p_name;
  delete from carillon.submission_budgets b where b.tenant = p_name;
  insert into carillon.audit (at, actor, action, subject, detail)
  values (v_now, p_actor, 'tenant.deleted', p_name, carillon.tenant_detail(v_tenant));
  return query select 'DELETED', v_tenant.version;
end $$;
