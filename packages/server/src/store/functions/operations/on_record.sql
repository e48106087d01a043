-- CANCEL, REPLAY and PURGE of single executions on request, with a row in the audit in the same transaction. Bulk work has
-- one row for the operation.
create or replace function carillon.cancel_on_record(
  p_ids uuid[], p_reason text, p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text, worker_id uuid, fence bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
  for execution_id, verdict, worker_id, fence in select c.* from carillon.cancel(p_ids, p_reason, p_actor, p_now) c loop
    if verdict in ('CANCELLED', 'FLAGGED') then
      insert into carillon.audit (at, tenant, actor, action, subject, detail)
      select coalesce(p_now, clock_timestamp()), e.tenant, p_actor, 'execution.cancelled', e.execution_id::text,
        jsonb_build_object('reason', p_reason, 'running', verdict = 'FLAGGED')
      from carillon.executions e where e.execution_id = cancel_on_record.execution_id;
    end if;
    return next;
  end loop;
end $$;

create or replace function carillon.replay_on_record(p_ids uuid[], p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
  for execution_id, verdict in select r.* from carillon.replay(p_ids, p_actor, p_now) r loop
    if verdict = 'REPLAYED' then
      insert into carillon.audit (at, tenant, actor, action, subject)
      select coalesce(p_now, clock_timestamp()), e.tenant, p_actor, 'execution.retried', e.execution_id::text
      from carillon.executions e where e.execution_id = replay_on_record.execution_id;
    end if;
    return next;
  end loop;
end $$;

-- PURGED; KEPT: it is no dead letter of the tenant, or not any more. Locks: its row of endings. Index: the primary key.
create or replace function carillon.purge_on_record(p_id uuid, p_tenant text, p_actor text, p_now timestamptz default null) returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
begin
  delete from carillon.endings n where n.execution_id = p_id and n.tenant = p_tenant and n.state = 'DEAD';
  if not found then
    return 'KEPT';
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject)
  values (coalesce(p_now, clock_timestamp()), p_tenant, p_actor, 'execution.purged', p_id::text);
  return 'PURGED';
end $$;
