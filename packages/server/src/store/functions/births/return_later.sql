-- Schedules executions to return to the queue, through `retries`, so that the leader of their shard gives them a tag. p_state:
-- the state they show meanwhile. One that is in `retries` already stays as it is. Returns the time, or null if there is none.
-- Locks: its own rows. The caller holds the ledger rows.
create or replace function carillon.return_later(p_ids uuid[], p_due timestamptz, p_state text) returns timestamptz
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  insert into carillon.retries (execution_id, shard, due, tenant, pool, lane, state)
  select e.execution_id, carillon.shard_of(e.job_id, n.shard_count), p_due, e.tenant, e.pool, e.lane, p_state
  from unnest(p_ids) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id
  cross join carillon.installation n
  order by e.execution_id
  on conflict (execution_id) do nothing;
  return case when found then p_due end;
end $$;
