-- Gives a graph another definition (p_dag, a new version); p_dag null: deletes it. The caller computed that from what it read, and names
-- the version: if another change came between, nothing is done and the caller looks again. Runs have their own steps: nothing of them
-- changes.
-- p_entry: see claim_answer. Answers DONE; ANSWERED: the request was answered before; AGAIN: it was changed or deleted meanwhile.
-- Locks: idempotency, its own row.
create or replace function carillon.change_dag(
  p_entry jsonb, p_id uuid, p_version int, p_dag jsonb, p_actor text, p_now timestamptz default null)
returns text
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_new carillon.dags := jsonb_populate_record(null::carillon.dags, p_dag);
  v_dag carillon.dags;
begin
  if not carillon.claim_answer(p_entry, v_now) then
    return 'ANSWERED';
  end if;
  if p_dag is null then
    update carillon.dags d set state = 'DELETED', updated_at = v_now
    where d.dag_id = p_id and d.version = p_version and d.state <> 'DELETED' returning d.* into v_dag;
  else
    update carillon.dags d set version = d.version + 1, name = v_new.name, managed_by = v_new.managed_by, labels = v_new.labels,
      deadline_sec = v_new.deadline_sec, steps = v_new.steps, updated_at = v_new.updated_at
    where d.dag_id = p_id and d.version = p_version and d.state <> 'DELETED' returning d.* into v_dag;
  end if;
  if not found then
    perform carillon.unclaim_answer(p_entry);
    return 'AGAIN';
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  values (v_now, v_dag.tenant, p_actor, case when p_dag is null then 'dag.deleted' else 'dag.updated' end, p_id::text,
    jsonb_build_object('version', v_dag.version));
  return 'DONE';
end $$;
