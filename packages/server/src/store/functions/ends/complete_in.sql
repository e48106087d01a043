-- Called by a handler inside its own transaction: marks the execution as completed if and only if that transaction
-- commits. An old fence raises, so the handler's effects roll back with it. The node REPORTs it after the commit.
-- SECURITY DEFINER: a role with EXECUTE on it and the execution's tenant in sql_tenants needs no right on any table. An execution of
-- another tenant looks like one whose fence is old.
-- Locks: executions (KEY SHARE), held by the caller's transaction; its own row.
create or replace function carillon.complete_in(execution_id uuid, fence bigint, result json default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_variable
declare
  v_row record;
begin
  if octet_length(result::text) > 262144 then
    raise exception 'carillon.complete_in: the result is larger than 256 KiB' using errcode = '22023',
      hint = 'Store the data elsewhere and return a reference to it.';
  elsif carillon.is_nested_too_deep(result::text) then
    raise exception 'carillon.complete_in: the result is nested more than 96 deep' using errcode = '22023',
      hint = 'Flatten it, or store the data elsewhere and return a reference to it.';
  end if;
  -- Taking the execution from its worker needs the row FOR UPDATE without waiting: it stays ours until this transaction ends.
  select e.tenant, e.state, e.fence into v_row from carillon.executions e where e.execution_id = complete_in.execution_id for key share;
  if found and carillon.may_act_for(v_row.tenant) and v_row.state is null and coalesce(v_row.fence, -1) < complete_in.fence
      and exists (select from carillon.leases l where l.lease_id = complete_in.fence >> 10
        and l.ids[(complete_in.fence & 1023) + 1] = complete_in.execution_id) then
    insert into carillon.completions as c (execution_id, fence, result)
    values (complete_in.execution_id, complete_in.fence, complete_in.result::text)
    on conflict on constraint completions_pkey do update set result = excluded.result;
    return;
  end if;
  raise exception 'carillon: the lease of execution % with fence % has been given to another attempt', execution_id, fence
    using errcode = 'CA001', hint = 'Roll back: another attempt owns this execution now.';
end $$;
comment on function carillon.complete_in(uuid, bigint, json) is
'Completes a running execution in the caller''s transaction: it has SUCCEEDED with this result if and only if the transaction commits.
Arguments: execution_id and fence as the handler got them; result, JSON of at most 256 KiB and 96 levels.
Raises CA001 if the fence is old or the execution is not one of a tenant that the role may name (carillon.allow_tenant): roll back.
22023: the result is too large or too deep.';
