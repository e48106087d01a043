-- A tenant's executions that have failed and are to be tried again, by job, and submissions by handler: the p_look newest of all tenants in a
-- range of ids. The last row is no group: it says `looked` though nothing matches. Locks: none. Indexes: retries_pkey, executions_pkey.
create or replace function carillon.group_retrying(p_tenant text, p_after uuid, p_before uuid, p_look bigint)
returns table (
  looked bigint, job_id uuid, handler text, count bigint, attempts bigint, last_at bigint, newest uuid, last_error jsonb, name text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  with walked as materialized (
    select r.execution_id, r.tenant, r.state from carillon.retries r
    where r.execution_id > p_after and r.execution_id < p_before order by r.execution_id desc limit p_look
  ), grouped as (
    select nullif(e.job_id, e.execution_id) job_id, case when e.job_id = e.execution_id then e.handler end handler, count(*) count,
      sum(e.attempt) attempts, max((e.history -> -1 ->> 'at')::bigint) last_at, max(e.execution_id::text collate "C")::uuid newest
    from walked w join carillon.executions e on e.execution_id = w.execution_id
    where w.tenant = p_tenant and w.state <> 'PENDING' group by 1, 2)
  select (select count(*) from walked), g.job_id, e.handler, g.count, g.attempts::bigint, g.last_at, g.newest, e.error, e.name
  from grouped g join carillon.executions e on e.execution_id = g.newest
  union all select (select count(*) from walked), null, null, 0, 0, null, null, null, null;
end $$;
