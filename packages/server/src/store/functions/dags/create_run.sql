-- RUN: a run of a graph, with an execution for each of its steps, in one transaction with what proves that it was asked for. No step is
-- ready yet: those that wait for nothing are taken up by the leader of the run's shard, like all others when their time comes.
--
-- p_entry: see claim_answer. p_run: {runId, dagId, dagVersion, tenant, name, labels, payload, traceparent, steps, at, createdAt, deadlineSec,
-- startedBy, startedFence, ancestors, fanOut, concurrency, maxFailures, paused}; payload and steps are texts. The arrays: each step, in the order of its number; p_children: of each an array of executions as a text. p_waits:
-- for how many steps it waits. Answers DONE; ANSWERED: the request was answered before; AGAIN: the graph has changed since it was read;
-- EXISTS: an earlier attempt of the execution has created it.
-- Locks: idempotency, the graph (share), its own rows.
create or replace function carillon.create_run(
  p_entry jsonb, p_actor text, p_run jsonb, p_ids uuid[], p_names text[], p_pools text[], p_lanes smallint[], p_handlers text[],
  p_payloads text[], p_policies jsonb[], p_labels jsonb[], p_allow_failure boolean[], p_waits int[], p_children text[],
  p_now timestamptz default null)
returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_id uuid := (p_run ->> 'runId')::uuid;
  v_at timestamptz := carillon.at((p_run ->> 'at')::bigint);
  v_deadline timestamptz := v_now + (p_run ->> 'deadlineSec')::int * interval '1 second';
  v_shard smallint := (select carillon.shard_of(v_id, n.shard_count) from carillon.installation n);
  v_births carillon.birth[];
  v_slots int := (p_run ->> 'concurrency')::int;
begin
  if not carillon.claim_answer(p_entry, v_now) then
    return 'ANSWERED';
  end if;
  if p_run ? 'dagId' then
    perform from carillon.dags d where d.dag_id = (p_run ->> 'dagId')::uuid and d.version = (p_run ->> 'dagVersion')::int
      and d.state = 'ACTIVE' for share;
    if not found then
      perform carillon.unclaim_answer(p_entry);
      return 'AGAIN';
    end if;
  end if;
  insert into carillon.dag_runs (execution_id, dag_id, dag_version, tenant, name, labels, payload, traceparent, steps, step_count,
    created_at, deadline_at, started_by, started_fence, ancestors, fan_out, concurrency, max_failures, paused)
  values (v_id, (p_run ->> 'dagId')::uuid, (p_run ->> 'dagVersion')::int, p_run ->> 'tenant', p_run ->> 'name', p_run -> 'labels',
    p_run ->> 'payload', p_run ->> 'traceparent', p_run ->> 'steps', cardinality(p_ids),
    coalesce(carillon.at((p_run ->> 'createdAt')::bigint), v_at), v_deadline, (p_run ->> 'startedBy')::uuid, (p_run ->> 'startedFence')::bigint,
    array(select jsonb_array_elements_text(p_run -> 'ancestors')::uuid), coalesce((p_run ->> 'fanOut')::boolean, false), v_slots,
    coalesce((p_run ->> 'maxFailures')::int, 0), coalesce((p_run ->> 'paused')::boolean, false))
  on conflict (execution_id) do nothing;
  if not found then
    return 'EXISTS';
  end if;
  select array_agg(b::carillon.birth order by b.id) into v_births from (
    select i.id, v_id job_id, null::int job_version, p_run ->> 'tenant' tenant, i.name, i.pool, i.lane, i.handler, -1::bigint tag,
      false guarded, v_at scheduled_for, v_at due_at, null::timestamptz expires_at, null::timestamptz deadline_at, i.payload, i.policy,
      i.labels, p_run ->> 'traceparent' traceparent, null::text state, null::text reason, null::timestamptz skipped_last,
      null::int skipped_count, null::jsonb history, null::text "key", i.policy rules, null::text body
    from unnest(p_ids, p_names, p_pools, p_lanes, p_handlers, p_payloads, p_policies, p_labels)
      i(id, name, pool, lane, handler, payload, policy, labels)) b;
  perform carillon.create_executions(v_now, 'DAG', v_births, p_admitted => false, p_actor => p_actor, p_fresh => true);
  insert into carillon.dag_steps (execution_id, number, allow_failure, children)
  select i.id, i.place - 1, i.allow_failure, i.children::uuid[]
  from unnest(p_ids, p_allow_failure, p_children) with ordinality i(id, allow_failure, children, place) order by i.id;
  insert into carillon.blocked (execution_id, run_id, shard, remaining, queued, slots, started)
  select b.id, v_id, v_shard, b.waits, b.id <> v_id and v_slots is not null, case when b.id = v_id then v_slots end,
    b.id = v_id and p_run ? 'startedBy'
  from (select * from unnest(p_ids, p_waits) u(id, waits) union all select v_id, cardinality(p_ids)) b order by b.id;
  if v_deadline is not null then
    insert into carillon.deadlines (execution_id, kind, due) values (v_id, 'RUN', v_deadline);
  end if;
  perform carillon.tell_runs(array[v_id], 'started', p_actor, v_now);
  return 'DONE';
end $$;

-- Tells of runs as they are now: how they ended, or p_type.
create or replace function carillon.tell_runs(p_ids uuid[], p_type text, p_actor text, p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  if not carillon.has_listeners(p_now) then
    return;
  end if;
  insert into carillon.events (at, tenant, type, job_id, detail)
  select p_now, r.tenant, 'dag_run.' || lower(coalesce(r.state, p_type)), r.execution_id,
    jsonb_strip_nulls(jsonb_build_object('name', r.name, 'reason', r.reason, 'count', r.step_count, 'actor', p_actor))
  from unnest(p_ids) with ordinality i(run_id, number) join carillon.dag_runs r on r.execution_id = i.run_id
  where (select carillon.hears_all()) or exists (
    select from carillon.event_listeners l where l.tenant = r.tenant and l.until > p_now)
  order by i.number;
end $$;
