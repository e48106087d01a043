-- The slots of executions that have ended, or come back later, are free again: ADMIT counts them when it looks at their keys.
-- Locks: its own rows; the caller holds the ledger rows. Index: limit_holds_pkey.
create or replace function carillon.free_slots(p_ids uuid[]) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  with gone as (
    delete from carillon.limit_holds h using unnest(p_ids) i(id) where h.execution_id = i.id returning h.key)
  insert into carillon.limit_changes (key, freed) select g.key, count(*) from gone g group by g.key;
end $$;
