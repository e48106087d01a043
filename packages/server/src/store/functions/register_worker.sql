-- Announces a worker, or replaces what it announced before. Pools that do not exist come into being; they are its tenant's,
-- or the installation's if it has none. A worker without a tenant may serve every pool.
-- Answers the pools that belong to somebody else: nothing was announced then. Null: the id is another tenant's worker.
-- Locks: pools by name, then the worker's row; the engine's other tables are not touched.
create or replace function carillon.register_worker(
  p_worker uuid, p_node uuid, p_tenant text, p_name text, p_pools jsonb, p_now timestamptz default null) returns text[]
language plpgsql volatile
as $$
declare
  v_pools text[] := array(select p ->> 'pool' from jsonb_array_elements(p_pools) p order by 1);
  v_foreign text[];
begin
  if exists (select from carillon.workers w where w.worker_id = p_worker and w.tenant is distinct from p_tenant) then
    return null;
  end if;
  -- Before, so that a refusal leaves no pools behind; and after, for what somebody else created meanwhile.
  for v_round in 1..2 loop
    v_foreign := array(
      select o.pool from carillon.pools o
      where o.pool = any (v_pools) and p_tenant is not null and o.tenant is distinct from p_tenant order by o.pool);
    if cardinality(v_foreign) > 0 then
      return v_foreign;
    end if;
    exit when v_round = 2;
    with born as (
      insert into carillon.pools (pool, tenant) select p, p_tenant from unnest(v_pools) p on conflict (pool) do nothing returning pool)
    insert into carillon.audit (at, tenant, actor, action, subject)
    select coalesce(p_now, clock_timestamp()), p_tenant, 'worker:' || p_worker, 'pool.created', b.pool from born b;
  end loop;

  insert into carillon.workers (worker_id, node_id, tenant, name, pools, seen_at)
  values (p_worker, p_node, p_tenant, p_name, p_pools, coalesce(p_now, clock_timestamp()))
  on conflict (worker_id) do update
  set node_id = excluded.node_id, name = excluded.name, pools = excluded.pools, seen_at = excluded.seen_at
  where workers.tenant is not distinct from excluded.tenant;
  return case when found then v_foreign end;
end $$;
