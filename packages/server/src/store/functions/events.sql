-- Events: what is written beside a change, in its transaction, for tenants that somebody listens to.
--
-- The hot functions insert in the statement that makes the change; others call tell_executions or tell_jobs after it. Both
-- ask first whether anybody listens at all, once per statement, and only then look at rows. They ask in the statement that
-- inserts: its lock on `events` is taken before it sees who listens. docs/guides/events.md says what gives which event.

-- Times in details are milliseconds.
create or replace function carillon.fired_detail(
  name text, handler text, pool text, origin text, scheduled_for timestamptz, due_at timestamptz, reason text, count int)
returns jsonb
language sql stable parallel safe
  return jsonb_strip_nulls(jsonb_build_object('name', name, 'handler', handler, 'pool', carillon.pool_name(pool), 'origin', origin,
    'scheduledFor', carillon.ms(scheduled_for), 'dueAt', carillon.ms(due_at), 'reason', reason, 'count', count));

create or replace function carillon.attempt_detail(
  handler text, attempt int, worker_id uuid, due_at timestamptz, started_at timestamptz, ended_at timestamptz, outcome text,
  reason text, error jsonb, retry_at bigint, actor text)
returns jsonb
language sql stable parallel safe
  return jsonb_strip_nulls(jsonb_build_object('handler', handler, 'attempt', attempt, 'workerId', worker_id,
    'dueAt', carillon.ms(due_at), 'startedAt', carillon.ms(started_at),
    'durationMs', carillon.ms(ended_at) - carillon.ms(started_at), 'outcome', outcome, 'reason', reason,
    'error', case when error is not null then
      jsonb_build_object('name', error ->> 'name', 'message', left(error ->> 'message', 1000)) end,
    'retryAt', retry_at, 'actor', actor));

-- What the end of an attempt gives: `failed` for each one that failed, and then what follows from it.
create or replace function carillon.attempt_events(outcome text, state text) returns text[]
language sql immutable parallel safe
  return array_remove(array[
    case when outcome in ('FAILED', 'TIMED_OUT', 'WORKER_LOST') and state is distinct from 'CANCELLED' then 'execution.failed' end,
    'execution.' || coalesce(lower(state), 'retrying')], null);

create or replace function carillon.job_detail(
  name text, key text, state text, version int, due timestamptz default null, actor text default null) returns jsonb
language sql stable parallel safe
  return jsonb_strip_nulls(jsonb_build_object('name', name, 'key', key, 'state', state, 'version', version,
    'nextFireAt', carillon.ms(due), 'actor', actor));

-- Tells of executions as the ledger has them now, in the order given: how they ended, or p_type of those that have not.
create or replace function carillon.tell_executions(p_ids uuid[], p_type text, p_actor text, p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
  select p_now, e.tenant, 'execution.' || lower(coalesce(e.state, p_type)), e.job_id, e.execution_id,
    carillon.fired_detail(e.name, e.handler, e.pool, e.origin, e.scheduled_for, e.due_at, e.reason, e.skipped_count)
      || jsonb_strip_nulls(jsonb_build_object('attempt', nullif(e.attempt, 0), 'actor', p_actor))
  from unnest(p_ids) with ordinality i(execution_id, number)
  join carillon.executions e on e.execution_id = i.execution_id
  join carillon.event_listeners l on l.tenant = e.tenant and l.until > p_now
  where exists (select from carillon.event_listeners h where h.until > p_now)
  order by i.number;
end $$;

-- Tells of jobs as they are now.
create or replace function carillon.tell_jobs(p_ids uuid[], p_type text, p_actor text, p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  insert into carillon.events (at, tenant, type, job_id, detail)
  select p_now, j.tenant, p_type, j.job_id, carillon.job_detail(
    j.name, j.key, case p_type when 'job.deleted' then 'DELETED' else j.state end, j.version, s.due, p_actor)
  from unnest(p_ids) with ordinality i(job_id, number)
  join carillon.jobs j on j.job_id = i.job_id
  join carillon.schedules s on s.job_id = j.job_id
  join carillon.event_listeners l on l.tenant = j.tenant and l.until > p_now
  where exists (select from carillon.event_listeners h where h.until > p_now)
  order by i.number;
end $$;
