-- Reserves tags for new work, like values of a sequence: in a transaction of its own, before the one that uses them,
-- so that writers of one flow do not wait for each other's commits.
--
-- Self-clocked fair queueing: a flow (tenant in a pool and lane) continues after its own last tag, or after the
-- lane's virtual time if that is further. Returns, in the order of the input, the flow's last tag after the
-- reservation: the caller's tags are the `cost` below it.
-- Locks: flows by key; the caller passes each flow once, sorted by pool, lane, tenant.
create or replace function carillon.reserve_tags(
  p_pools text[], p_lanes smallint[], p_tenants text[], p_costs bigint[], p_virtual_times bigint[])
returns setof bigint
language plpgsql volatile
as $$
declare
  v_last bigint;
begin
  for i in 1..cardinality(p_pools) loop
    insert into carillon.flows as f (pool, lane, tenant, last_tag)
    values (p_pools[i], p_lanes[i], p_tenants[i], p_virtual_times[i] + p_costs[i])
    on conflict (pool, lane, tenant) do update
      set last_tag = greatest(f.last_tag, p_virtual_times[i]) + p_costs[i]
    returning f.last_tag into v_last;
    return next v_last;
  end loop;
end $$;
