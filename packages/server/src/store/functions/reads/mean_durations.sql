-- How long attempts took, by pool and handler: the p_look newest executions of a tenant, those among them that SUCCEEDED.
-- Locks: none. Index: executions_tenant.
create or replace function carillon.mean_durations(p_tenant text, p_before uuid, p_look bigint)
returns table (pool text, handler text, count bigint, mean_ms float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select carillon.pool_name(e.pool), e.handler, count(*),
    avg(extract(epoch from e.finished_at - e.started_at) * 1000)::float8
  from (
    select x.pool, x.handler, x.state, x.started_at, x.finished_at from carillon.executions x
    where (x.tenant, x.execution_id) < (p_tenant, p_before) and x.tenant = p_tenant and x.execution_id < p_before
    order by x.tenant desc, x.execution_id desc limit p_look) e
  where e.state = 'SUCCEEDED' and e.started_at is not null group by 1, 2;
end $$;
