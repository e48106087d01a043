-- The name in what the queue tables call a pool: see migrations/0010_audit_and_pools.sql. domain/pool-key.ts is the same.
create or replace function carillon.pool_name(pool text) returns text
  language sql immutable strict parallel safe
  return split_part(pool, U&'\001f', -1);

-- Creates what is missing of a tenant's pools (null: of the installation's). Answers {"keys": {name: pool}, "born": n}; or
-- {"foreign": [name]}: a tenant cannot take a name that the installation has, because its jobs may already go there; or {"limit": n}: the
-- tenant would have more than p_max, or than its quota. Of other tenants' pools nothing can be learned.
-- Locks: an advisory lock of the tenant if something is missing, then its own rows.
create or replace function carillon.claim_pools(
  p_tenant text, p_names text[], p_actor text, p_max int, p_now timestamptz default null)
returns jsonb
language plpgsql volatile
as $$
declare
  v_new text[];
  v_foreign text[];
  v_max int;
begin
  for v_round in 1..2 loop
    v_new := array(
      select distinct n collate "C" from unnest(p_names) n
      where not exists (select from carillon.pools o where o.name = n and o.tenant is not distinct from p_tenant) order by 1);
    exit when v_new = '{}' or v_round = 2;
    -- Looked at again under the lock: the bound is exact.
    perform pg_advisory_xact_lock(hashtextextended('carillon.pools ' || coalesce(p_tenant, ''), 0));
  end loop;
  if v_new <> '{}' then
    v_foreign := array(
      select o.name from carillon.pools o
      where o.name = any (v_new) and (case when p_tenant is null then o.pool = o.name else o.tenant is null end) order by 1);
    if v_foreign <> '{}' then
      return jsonb_build_object('foreign', v_foreign);
    elsif p_tenant is not null then
      v_max := coalesce((select t.max_pools from carillon.tenants t where t.name = p_tenant), p_max);
      if (select count(*) from carillon.pools o where o.tenant = p_tenant) + cardinality(v_new) > v_max then
        return jsonb_build_object('limit', v_max);
      end if;
    end if;
    with born as (
      insert into carillon.pools (pool, tenant)
      select coalesce(p_tenant || U&'\001f', '') || n, p_tenant from unnest(v_new) n returning name)
    insert into carillon.audit (at, tenant, actor, action, subject)
    select coalesce(p_now, clock_timestamp()), p_tenant, p_actor, 'pool.created', b.name from born b;
  end if;
  return jsonb_build_object('born', cardinality(v_new), 'keys', (
    select jsonb_object_agg(o.name, o.pool) from carillon.pools o
    where o.name = any (p_names) and o.tenant is not distinct from p_tenant));
end $$;

-- Removes a pool that nothing names any more; answers DELETED, UNKNOWN, or what still names it: JOBS, EXECUTIONS or WORKERS.
-- Reads all jobs and all leases. A node may know the pool for five seconds more: a job created meanwhile waits until a worker brings the
-- pool again.
-- Locks: the pool's row.
create or replace function carillon.delete_pool(p_pool text, p_actor text, p_silent_ms bigint, p_now timestamptz default null)
returns text
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_pool carillon.pools;
begin
  select * into v_pool from carillon.pools o where o.pool = p_pool for update;
  if not found then
    return 'UNKNOWN';
  elsif exists (select from carillon.workers w where w.pools @> jsonb_build_array(jsonb_build_object('pool', p_pool))
      and w.seen_at >= v_now - p_silent_ms * interval '1 millisecond') then
    return 'WORKERS';
  elsif exists (select from carillon.ready r where r.pool = p_pool)
      or exists (select from carillon.retries r where r.pool = p_pool)
      or exists (select from carillon.submissions u where u.pool = p_pool)
      or exists (select from carillon.dedupe_requests q where q.pool = p_pool and q.settled_at is null)
      or exists (select from carillon.running r join carillon.executions e on e.execution_id = r.execution_id
                 where e.pool = p_pool)
      or exists (select from carillon.waiting w join carillon.executions e on e.execution_id = w.execution_id
                 where e.pool = p_pool)
      or exists (select from carillon.blocked b join carillon.executions e on e.execution_id = b.execution_id
                 where e.pool = p_pool) then
    return 'EXECUTIONS';
  elsif exists (select from carillon.jobs j where j.pool = p_pool and j.state in ('ACTIVE', 'PAUSED')) then
    return 'JOBS';
  end if;
  delete from carillon.pools o where o.pool = p_pool;
  insert into carillon.audit (at, tenant, actor, action, subject)
  values (v_now, v_pool.tenant, p_actor, 'pool.deleted', v_pool.name);
  return 'DELETED';
end $$;
