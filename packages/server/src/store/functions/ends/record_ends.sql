-- The one place where ends other than SUCCEEDED are put on record, for dead letters and filters by state. Of dead letters it keeps what they
-- are grouped by, so that nobody has to read the ledger for that.
-- Locks: its own rows. Index, for dead letters only: executions_pkey.
create or replace function carillon.record_ends(p_ids uuid[], p_tenants text[], p_states text[]) returns void
language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  if 'DEAD' <> all (p_states) then
    insert into carillon.endings (execution_id, tenant, state)
    select i.id, i.tenant, i.state from unnest(p_ids, p_tenants, p_states) i(id, tenant, state) where i.state <> 'SUCCEEDED';
    return;
  end if;
  insert into carillon.endings (execution_id, tenant, state, job_id, handler, pool, reason, error, attempts, ended_at)
  select i.id, i.tenant, i.state, nullif(e.job_id, e.execution_id), e.handler, carillon.pool_name(e.pool), coalesce(e.reason, ''),
    carillon.error_name(e.error), e.attempt, e.finished_at
  from unnest(p_ids, p_tenants, p_states) i(id, tenant, state)
  left join carillon.executions e on e.execution_id = case when i.state = 'DEAD' then i.id end
  where i.state <> 'SUCCEEDED';
end $$;
