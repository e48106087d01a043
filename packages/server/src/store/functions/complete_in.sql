-- Called by a handler inside its own transaction: marks the execution as completed if and only if that transaction
-- commits. An old fence raises, so the handler's effects roll back with it. The node REPORTs it after the commit.
-- Locks: one row of running, held by the caller's transaction.
create or replace function carillon.complete_in(p_id uuid, p_fence bigint, p_result text) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
  update carillon.running r set completed = true, result = p_result
  where r.execution_id = p_id and r.fence = p_fence;
  if not found then
    raise exception 'carillon: the lease of execution % with fence % has been given to another attempt', p_id, p_fence
      using errcode = 'CA001', hint = 'Roll back: another attempt owns this execution now.';
  end if;
end $$;
