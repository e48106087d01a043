-- The one place where ends other than SUCCEEDED are put on record, for dead letters and filters by state.
-- Locks: its own rows.
create or replace function carillon.record_ends(p_ids uuid[], p_tenants text[], p_states text[]) returns void
language sql volatile
as $$
  insert into carillon.endings (execution_id, tenant, state)
  select i.id, i.tenant, i.state from unnest(p_ids, p_tenants, p_states) i(id, tenant, state) where i.state <> 'SUCCEEDED'
$$;
