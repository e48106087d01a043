-- Declares a tenant, or changes what is declared. Answers CREATED, UPDATED or UNCHANGED and the tenant as it is now; or MISMATCH if a
-- version was asked for and there is another one, or none.
-- Locks: the tenant's row.
create or replace function carillon.put_tenant(
  p_name text, p_weight int, p_description text, p_version int, p_actor text, p_now timestamptz default null)
returns table (verdict text, tenant carillon.tenants)
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_old carillon.tenants;
  v_new carillon.tenants;
begin
  select * into v_old from carillon.tenants t where t.name = p_name for update;
  if not found and p_version is null then
    insert into carillon.tenants (name, weight, description, created_at, updated_at)
    values (p_name, p_weight, p_description, v_now, v_now) on conflict do nothing returning * into v_new;
    if found then
      insert into carillon.audit (at, actor, action, subject, detail)
      values (v_now, p_actor, 'tenant.created', p_name, jsonb_build_object('weight', p_weight, 'description', p_description));
      return query select 'CREATED', v_new;
      return;
    end if;
    -- A concurrent call has declared it since.
    select * into v_old from carillon.tenants t where t.name = p_name for update;
  end if;
  if p_version is not null and v_old.version is distinct from p_version then
    return query select 'MISMATCH', v_old;
  elsif (v_old.weight, v_old.description) is not distinct from (p_weight, p_description) then
    return query select 'UNCHANGED', v_old;
  else
    update carillon.tenants t
    set weight = p_weight, description = p_description, version = t.version + 1, updated_at = v_now
    where t.name = p_name returning * into v_new;
    insert into carillon.audit (at, actor, action, subject, detail)
    values (v_now, p_actor, 'tenant.updated', p_name, jsonb_build_object(
      'weight', p_weight, 'description', p_description, 'before', jsonb_build_object(
        'weight', v_old.weight, 'description', v_old.description)));
    return query select 'UPDATED', v_new;
  end if;
end $$;

-- Takes back the declaration of a tenant that has nothing any more. Answers DELETED, UNKNOWN, MISMATCH, or what the tenant still has: JOBS,
-- GRAPHS, EXECUTIONS, POOLS or TOKENS. Its limits go with it: nothing is left that they could count. Reads everything that is unfinished.
-- Locks: the tenant's row, its limits.
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
  insert into carillon.audit (at, actor, action, subject, detail)
  values (v_now, p_actor, 'tenant.deleted', p_name, jsonb_build_object('weight', v_tenant.weight));
  return query select 'DELETED', v_tenant.version;
end $$;
