-- What people do to runs. Each locks the run first, so that the leader that advances it comes before or after.

-- Cancels runs: what has not started ends, what runs is told to stop. Answers of each run RUNNING: it is being cancelled, or ENDED; nothing of
-- one that is not there; and of executions what carillon.cancel answers. BUSY ones are left: the caller asks again.
-- Locks: dag_runs by id, then see cancel.
create or replace function carillon.cancel_runs(p_runs uuid[], p_reason text, p_actor text, p_now timestamptz default null)
returns table (execution_id uuid, verdict text, worker_id uuid, fence bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_runs uuid[];
  v_ids uuid[];
begin
  perform from unnest(p_runs) i(id) join carillon.dag_runs r on r.execution_id = i.id order by r.execution_id for no key update of r;
  return query
  select r.execution_id, case when r.state is null then 'RUNNING' else 'ENDED' end, null::uuid, null::bigint
  from unnest(p_runs) i(id) join carillon.dag_runs r on r.execution_id = i.id;
  with marked as (
    update carillon.dag_runs r set cancel_at = v_now, cancel_reason = p_reason, cancel_by = p_actor
    from unnest(p_runs) i(id) where r.execution_id = i.id and r.state is null and r.cancel_at is null
    returning r.execution_id, r.tenant)
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  select v_now, m.tenant, p_actor, 'dag_run.cancelled', m.execution_id::text, jsonb_build_object('reason', p_reason) from marked m;
  v_ids := array(
    select e.execution_id from unnest(p_runs) i(id) join carillon.dag_runs r on r.execution_id = i.id and r.state is null
    cross join lateral carillon.executions_of_run(r.execution_id) e where e.state is null);
  if v_ids <> '{}' then
    return query select c.* from carillon.cancel(v_ids, p_reason, p_actor, v_now) c;
  end if;
end $$;

-- Runs whose deadline has passed. Answers what runs and must be told to stop. BUSY executions are looked at again: the entry stays.
-- Locks: deadlines (SKIP LOCKED), then see cancel_runs.
create or replace function carillon.expire_runs(p_limit int, p_now timestamptz default null)
returns table (execution_id uuid, worker_id uuid, fence bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_runs uuid[];
  v_told record;
begin
  select array_agg(d.execution_id) into v_runs from (
    select d.execution_id from carillon.deadlines d where d.kind = 'RUN' and d.due <= v_now
    order by d.due limit p_limit for update skip locked) d;
  if v_runs is null then
    return;
  end if;
  select array_agg(c.execution_id) filter (where c.verdict = 'FLAGGED') ids, array_agg(c.worker_id) filter (where c.verdict = 'FLAGGED') workers,
    array_agg(c.fence) filter (where c.verdict = 'FLAGGED') fences, bool_or(c.verdict = 'BUSY') busy
  into v_told from carillon.cancel_runs(v_runs, 'RUN_DEADLINE', 'sweeper', v_now) c;
  if v_told.busy is not true then
    delete from carillon.deadlines d where d.execution_id = any (v_runs) and d.kind = 'RUN';
  end if;
  return query select * from unnest(v_told.ids, v_told.workers, v_told.fences);
end $$;

-- The ledger rows of a run. They have its time, and so lie in its partition. Index: executions_job.
create or replace function carillon.executions_of_run(p_run uuid) returns setof carillon.executions
language sql stable
set enable_seqscan = off set enable_bitmapscan = off
as $$
  select e.* from carillon.executions e
  where e.job_id = p_run and e.job_id <> e.execution_id
    and e.execution_id >= carillon.first_id(carillon.time_of(p_run)) and e.execution_id < carillon.first_id(carillon.time_of(p_run) + 1)
  order by e.execution_id
$$;

-- Pauses or resumes a run. False: it has ended, or is being cancelled; null: no such run. Resumed, what was held back is looked at again,
-- also what could not be made ready for another reason.
-- Locks: dag_runs, blocked by id.
create or replace function carillon.pause_run(p_run uuid, p_paused boolean, p_actor text, p_now timestamptz default null) returns boolean
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_run carillon.dag_runs;
begin
  select * into v_run from carillon.dag_runs r where r.execution_id = p_run for no key update;
  if not found then
    return null;
  elsif v_run.state is not null or v_run.cancel_at is not null then
    return false;
  elsif v_run.paused and p_paused then
    return true;
  end if;
  update carillon.dag_runs r set paused = p_paused where r.execution_id = p_run;
  if not p_paused then
    perform from carillon.blocked b where b.run_id = p_run and b.held order by b.execution_id for update;
    update carillon.blocked b set held = false where b.run_id = p_run and b.held;
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject)
  values (coalesce(p_now, clock_timestamp()), v_run.tenant, p_actor, case when p_paused then 'dag_run.paused' else 'dag_run.resumed' end, p_run::text);
  return true;
end $$;

-- Runs again what has not SUCCEEDED of a run that FAILED or was CANCELLED. p_ids: those, with the number of steps each has to wait for
-- again. p_fence: under which the execution that has started it waits for it now; nobody else retries such a run.
-- Answers DONE; AGAIN: something has changed since the caller looked; STATE: it has not ended so; TOO_OLD; STARTED; null: no such run.
-- Locks: dag_runs, executions by id, blocked (its own rows), endings.
create or replace function carillon.retry_run(p_run uuid, p_ids uuid[], p_waits int[], p_actor text, p_fence bigint default null,
  p_now timestamptz default null) returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_run carillon.dag_runs;
  v_open uuid[];
begin
  select * into v_run from carillon.dag_runs r where r.execution_id = p_run for no key update;
  if not found then
    return null;
  elsif v_run.state is null or v_run.state not in ('FAILED', 'CANCELLED') then
    return 'STATE';
  elsif v_run.started_by is not null and p_fence is null then
    return 'STARTED';
  elsif p_fence < v_run.started_fence then
    return 'AGAIN';   -- a later attempt has it
  elsif exists (select from carillon.installation n where p_run < n.floor_id) then
    return 'TOO_OLD';   -- its partition is going
  end if;
  v_open := array(
    select e.execution_id from carillon.executions_of_run(p_run) o join carillon.executions e on e.execution_id = o.execution_id
    where e.state <> 'SUCCEEDED' order by e.execution_id for no key update of e);
  if v_open <> array(select i from unnest(p_ids) i order by i) then
    return 'AGAIN';
  end if;
  update carillon.executions e
  set state = null, reason = null, finished_at = null, attempt = 0, releases = 0, result = null, error = null, inputs = null, tag = -1,
    started_at = null, worker_id = null, progress = null,
    expires_at = null, deadline_at = null, history = carillon.with_entry(e.history, jsonb_build_object('at', carillon.ms(v_now),
      'to', 'BLOCKED', 'actor', p_actor, 'reason', 'REPLAYED'))
  from unnest(p_ids) i(id) where e.execution_id = i.id;
  insert into carillon.blocked (execution_id, run_id, shard, remaining, queued, slots, started)
  select b.id, p_run, carillon.shard_of(p_run, n.shard_count), b.waits, b.id <> p_run and v_run.concurrency is not null,
    case when b.id = p_run then v_run.concurrency end, b.id = p_run and v_run.started_by is not null
  from carillon.installation n cross join (
    select * from unnest(p_ids, p_waits) u(id, waits) union all select p_run, cardinality(p_ids)) b order by b.id;
  perform from unnest(p_ids) i(id) join carillon.endings n on n.execution_id = i.id order by n.execution_id for update of n;
  delete from carillon.endings n using unnest(p_ids) i(id) where n.execution_id = i.id;
  update carillon.dag_runs r
  set state = null, reason = null, finished_at = null, failed_count = null, deadline_at = null, cancel_at = null, cancel_reason = null,
    cancel_by = null, started_fence = coalesce(p_fence, started_fence)
  where r.execution_id = p_run;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  values (v_now, v_run.tenant, p_actor, 'dag_run.retried', p_run::text, jsonb_build_object('steps', cardinality(p_ids)));
  perform carillon.tell_runs(array[p_run], 'started', p_actor, v_now);
  perform carillon.tell_executions(p_ids, 'retrying', p_actor, v_now);
  return 'DONE';
end $$;

-- TAKE: an execution that stands for a run begins to wait for it, under its fence. Answers RUNNING; ENDING: all steps have ended, or it is being
-- cancelled, look again; how it has ended; null: there is no such run yet.
-- Locks: dag_runs.
create or replace function carillon.take_run(p_run uuid, p_execution uuid, p_fence bigint) returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_run carillon.dag_runs;
begin
  select * into v_run from carillon.dag_runs r where r.execution_id = p_run for no key update;
  if not found then
    return null;
  elsif v_run.started_by is distinct from p_execution then
    raise exception 'the run % was not started by the execution %', p_run, p_execution;
  elsif v_run.state is not null then
    return v_run.state;
  elsif v_run.cancel_at is not null or exists (select from carillon.blocked b where b.execution_id = p_run and b.remaining = 0) then
    return 'ENDING';
  end if;
  update carillon.dag_runs r set started_fence = p_fence where r.execution_id = p_run and r.started_fence < p_fence;
  return 'RUNNING';
end $$;

-- Cancels runs whose executions do not wait for them any more, because they were cancelled, took too long or were lost. Answers what runs
-- and must be told to stop. If something is BUSY, expire_runs goes on.
-- Locks: dag_runs by id, then see cancel_runs.
create or replace function carillon.cancel_abandoned_runs(p_limit int, p_now timestamptz default null)
returns table (execution_id uuid, worker_id uuid, fence bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_runs uuid[];
  v_told record;
begin
  v_runs := carillon.abandoned_runs(array(select b.execution_id from carillon.blocked b where b.started), p_limit);
  if v_runs = '{}' then
    return;
  end if;
  perform from unnest(v_runs) i(id) join carillon.dag_runs r on r.execution_id = i.id order by r.execution_id for no key update of r;
  -- Again: another attempt may have taken it.
  v_runs := carillon.abandoned_runs(v_runs, p_limit);
  select array_agg(c.execution_id) filter (where c.verdict = 'FLAGGED') ids, array_agg(c.worker_id) filter (where c.verdict = 'FLAGGED') workers,
    array_agg(c.fence) filter (where c.verdict = 'FLAGGED') fences, bool_or(c.verdict = 'BUSY') busy
  into v_told from carillon.cancel_runs(v_runs, 'RUN_CANCELLED', 'scheduler', v_now) c;
  if v_told.busy then
    insert into carillon.deadlines (execution_id, kind, due) select i.id, 'RUN', v_now from unnest(v_runs) i(id) order by i.id
    on conflict (execution_id, kind) do update set due = excluded.due;
  end if;
  return query select * from unnest(v_told.ids, v_told.workers, v_told.fences);
end $$;

-- Of runs that executions have started and that go on: those whose execution does not wait for them any more. One of which all steps have
-- ended is not cancelled: its execution is told before its end is written. Locks: none.
-- Indexes: dag_runs_pkey, leases_pkey, lease_notes_pkey, executions_pkey, blocked_pkey.
create or replace function carillon.abandoned_runs(p_runs uuid[], p_limit int) returns uuid[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_on record;
begin
  select array_agg(r.execution_id) runs, array_agg(r.started_by) executions, array_agg(r.started_fence) fences into v_on
  from unnest(p_runs) i(id) join carillon.dag_runs r on r.execution_id = i.id
  where r.state is null and r.cancel_at is null and r.started_by is not null;
  return array(
    with h as materialized (select * from carillon.read_held(v_on.executions, v_on.fences) x where x.cancel_reason is null)
    select u.run from unnest(v_on.runs, v_on.executions, v_on.fences) u(run, execution, fence)
    left join h on h.execution_id = u.execution and h.fence = u.fence
    -- Seen together with what is held: one that has been told is over here too.
    where h.execution_id is null and exists (select from carillon.blocked b where b.execution_id = u.run and not b.released)
    order by u.run limit p_limit);
end $$;

-- The run that an execution has started last, as the contract's StartedRun; null: none. Index: dag_runs_started.
create or replace function carillon.started_run(p_execution uuid) returns jsonb
language sql stable
set enable_seqscan = off set enable_bitmapscan = off
as $$
  select jsonb_build_object('runId', r.execution_id, 'state', coalesce(r.state, 'RUNNING'), 'stepCount', r.step_count,
    'doneCount', case when r.state is null then r.step_count - b.remaining else r.step_count end,
    'failedCount', coalesce(r.failed_count, b.failed, 0))
  from carillon.dag_runs r left join carillon.blocked b on b.execution_id = case when r.state is null then r.execution_id end
  where r.started_by = p_execution
    -- It has the time of its execution, and so lies in its partition.
    and r.execution_id >= carillon.first_id(carillon.time_of(p_execution)) and r.execution_id < carillon.first_id(carillon.time_of(p_execution) + 1)
  order by r.created_at desc limit 1
$$;
