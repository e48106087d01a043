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
-- again. Answers DONE; AGAIN: something has changed since the caller looked; STATE: it has not ended so; TOO_OLD; null: no such run.
-- Locks: dag_runs, executions by id, blocked (its own rows), endings.
create or replace function carillon.retry_run(p_run uuid, p_ids uuid[], p_waits int[], p_actor text, p_now timestamptz default null) returns text
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
  insert into carillon.blocked (execution_id, run_id, shard, remaining)
  select b.id, p_run, carillon.shard_of(p_run, n.shard_count), b.waits from carillon.installation n cross join (
    select * from unnest(p_ids, p_waits) u(id, waits) union all select p_run, cardinality(p_ids)) b order by b.id;
  perform from unnest(p_ids) i(id) join carillon.endings n on n.execution_id = i.id order by n.execution_id for update of n;
  delete from carillon.endings n using unnest(p_ids) i(id) where n.execution_id = i.id;
  update carillon.dag_runs r
  set state = null, reason = null, finished_at = null, failed_count = null, deadline_at = null, cancel_at = null, cancel_reason = null,
    cancel_by = null
  where r.execution_id = p_run;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  values (v_now, v_run.tenant, p_actor, 'dag_run.retried', p_run::text, jsonb_build_object('steps', cardinality(p_ids)));
  perform carillon.tell_runs(array[p_run], 'started', p_actor, v_now);
  perform carillon.tell_executions(p_ids, 'retrying', p_actor, v_now);
  return 'DONE';
end $$;
