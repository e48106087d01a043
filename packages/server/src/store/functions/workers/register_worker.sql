-- Registers a worker, or replaces its earlier registration. Pools that do not exist are created; they are its tenant's,
-- or the installation's if it has none. The worker's row holds them as the queue tables call them.
-- Answers as claim_pools does; with `foreign` or `limit` nothing was registered. Null: the id is another tenant's worker. Raises CA002
-- if the tenant would have more workers than its quota: those that are registered count until they leave or are lost.
-- Locks: an advisory lock of the tenant if it has that quota, see claim_pools, then the worker's row; the engine's other tables are not
-- touched.
create or replace function carillon.register_worker(
  p_worker uuid, p_node uuid, p_tenant text, p_name text, p_pools jsonb, p_max_pools int, p_now timestamptz default null)
returns jsonb
language plpgsql volatile
as $$
declare
  v_claimed jsonb;
  v_max int := (select t.max_workers from carillon.tenants t where t.name = p_tenant);
begin
  if exists (select from carillon.workers w where w.worker_id = p_worker and w.tenant is distinct from p_tenant) then
    return null;
  end if;
  if v_max is not null then
    perform pg_advisory_xact_lock(hashtextextended('carillon.workers ' || p_tenant, 0));
    if not exists (select from carillon.workers w where w.worker_id = p_worker)
        and (select count(*) from carillon.workers w where w.tenant = p_tenant) >= v_max then
      raise exception 'carillon: the tenant % may have % workers', p_tenant, v_max using errcode = 'CA002',
        detail = jsonb_build_object('quota', 'maxWorkers', 'limit', v_max)::text;
    end if;
  end if;
  v_claimed := carillon.claim_pools(p_tenant, array(select p ->> 'pool' from jsonb_array_elements(p_pools) p),
    'worker:' || p_worker, p_max_pools, p_now);
  if not v_claimed ? 'keys' then
    return v_claimed;
  end if;
  insert into carillon.workers (worker_id, node_id, tenant, name, pools, seen_at)
  values (p_worker, p_node, p_tenant, p_name, (
      select coalesce(jsonb_agg(p.announced || jsonb_build_object('pool', v_claimed -> 'keys' -> (p.announced ->> 'pool')) order by p.at), '[]')
      from jsonb_array_elements(p_pools) with ordinality p(announced, at)), coalesce(p_now, clock_timestamp()))
  on conflict (worker_id) do update
  set node_id = excluded.node_id, name = excluded.name, pools = excluded.pools, seen_at = excluded.seen_at
  where workers.tenant is not distinct from excluded.tenant;
  return case when found then v_claimed end;
end $$;
