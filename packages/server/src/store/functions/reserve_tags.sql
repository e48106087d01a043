-- Reserves tags for new work, like values of a sequence: in a transaction of its own, before the one that uses them,
-- so that writers of one flow do not wait for each other's commits.
--
-- Start-time fair queueing: a flow (tenant in a pool and lane) continues where its last execution ends, or at the lane's
-- virtual time if that is further. Returns, in the order of the input, where the flow ends after the reservation; the
-- caller's tags begin `cost` before it.
-- The disk is not waited for: the commit of what uses the tags waits for everything before it, and tags that nobody used
-- are not missed. [m] 0.19 ms a call instead of 0.38.
-- Locks: flows by key; the caller passes each flow once, sorted by pool, lane, tenant.
create or replace function carillon.reserve_tags(
  p_pools text[], p_lanes smallint[], p_tenants text[], p_costs bigint[], p_virtual_times bigint[])
returns setof bigint
language plpgsql volatile
as $$
declare
  v_finish bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  for i in 1..cardinality(p_pools) loop
    insert into carillon.flows as f (pool, lane, tenant, finish)
    values (p_pools[i], p_lanes[i], p_tenants[i], p_virtual_times[i] + p_costs[i])
    on conflict (pool, lane, tenant) do update
      set finish = greatest(f.finish, p_virtual_times[i]) + p_costs[i]
    returning f.finish into v_finish;
    return next v_finish;
  end loop;
end $$;
