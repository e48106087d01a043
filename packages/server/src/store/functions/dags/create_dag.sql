-- Creates a graph: p_dag has columns of carillon.dags. p_entry: the request's Idempotency-Key and answer, see claim_answer.
-- Answers DONE; ANSWERED: the request was answered before; AGAIN: the key was taken since the caller looked.
-- Locks: idempotency, its own row by key.
create or replace function carillon.create_dag(p_entry jsonb, p_dag jsonb, p_actor text, p_now timestamptz default null)
returns text
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_dag carillon.dags := jsonb_populate_record(null::carillon.dags, p_dag);
begin
  if not carillon.claim_answer(p_entry, v_now) then
    return 'ANSWERED';
  end if;
  insert into carillon.dags (dag_id, version, tenant, name, key, managed_by, labels, deadline_sec, steps, created_at, updated_at)
  values (v_dag.dag_id, 1, v_dag.tenant, v_dag.name, v_dag.key, v_dag.managed_by, v_dag.labels, v_dag.deadline_sec, v_dag.steps,
    v_dag.created_at, v_dag.updated_at)
  on conflict (tenant, key) where key is not null and state <> 'DELETED' do nothing;
  if not found then
    perform carillon.unclaim_answer(p_entry);
    return 'AGAIN';
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  values (v_now, v_dag.tenant, p_actor, 'dag.created', v_dag.dag_id::text,
    jsonb_strip_nulls(jsonb_build_object('name', v_dag.name, 'key', v_dag.key)));
  return 'DONE';
end $$;
