-- Events: what is written beside a change, in its transaction, for tenants with listeners, and for all while there is a subscription.
--
-- Every change asks first whether there are listeners at all (has_listeners, or in the statement that inserts), and only
-- then looks at rows. The lock on `events` is taken before it is seen who listens: event_writers waits for its holders.
-- docs/guides/events.md says what gives which event.

-- Whether there are listeners. From here to its end the transaction counts as one that writes events.
create or replace function carillon.has_listeners(p_now timestamptz) returns boolean
language plpgsql volatile
as $$
begin
  lock table carillon.events in row exclusive mode;
  return exists (select from carillon.event_listeners l where l.until > p_now);
end $$;

-- Whether there is a subscription: changes of every tenant are told. Asked after has_listeners.
create or replace function carillon.hears_all() returns boolean
language sql stable
  return exists (select from carillon.event_listeners l where l.tenant = U&'\001f');

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
  where exists (select from carillon.event_listeners h where h.until > p_now)
    and ((select carillon.hears_all()) or exists (
      select from carillon.event_listeners l where l.tenant = e.tenant and l.until > p_now))
  order by i.number;
end $$;

-- Tells how attempts ended that the ledger has on record: of p_told, which are among p_ids. p_outcomes null: all have SUCCEEDED.
create or replace function carillon.tell_attempts(
  p_told uuid[], p_ids uuid[], p_outcomes text[], p_dues bigint[], p_actors text[], p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
  select p_now, e.tenant, t.type, e.job_id, e.execution_id, carillon.attempt_detail(e.handler,
    e.attempt + (i.outcome is not distinct from 'HANDED_BACK')::int, e.worker_id, e.due_at,
    e.started_at, p_now, coalesce(i.outcome, 'SUCCEEDED'), e.reason, e.error, case when t.type = 'execution.retrying' then i.due end,
    case when e.state <> 'SUCCEEDED' then i.actor end)
  from unnest(p_ids, p_outcomes, p_dues, p_actors) with ordinality i(id, outcome, due, actor, number)
  join carillon.executions e on e.execution_id = i.id
  cross join lateral unnest(carillon.attempt_events(coalesce(i.outcome, 'SUCCEEDED'), e.state)) t(type)
  -- Most often all are told; an array is searched row by row.
  where (cardinality(p_told) = cardinality(p_ids) or i.id = any (p_told))
    and ((select carillon.hears_all()) or exists (
      select from carillon.event_listeners l where l.tenant = e.tenant and l.until > p_now))
  order by i.number;
end $$;

-- Tells of executions that were just leased, each with its worker.
-- [m] With the workers from LEASE instead of a look at what is held: LEASE(500) with a subscription 50 -> 21 us an execution.
create or replace function carillon.tell_leased(p_ids uuid[], p_workers uuid[], p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
  select p_now, e.tenant, 'execution.started', e.job_id, e.execution_id, jsonb_build_object('handler', e.handler,
    'attempt', e.attempt + 1, 'workerId', i.worker_id, 'dueAt', carillon.ms(e.due_at))
  from unnest(p_ids, p_workers) with ordinality i(id, worker_id, number)
  join carillon.executions e on e.execution_id = i.id
  where (select carillon.hears_all()) or exists (
    select from carillon.event_listeners l where l.tenant = e.tenant and l.until > p_now)
  order by i.number;
end $$;

-- Tells how far executions have come that their workers hold. What is larger than 4 KiB, or has escapes that jsonb cannot hold, is left out.
create or replace function carillon.tell_progress(p_ids uuid[], p_fences bigint[], p_progress text[], p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
begin
  insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
  select p_now, e.tenant, 'execution.progress', e.job_id, e.execution_id, jsonb_strip_nulls(jsonb_build_object('handler', e.handler,
      'attempt', e.attempt + 1, 'workerId', l.worker_id))
    || case when octet_length(i.progress) <= 4096 and i.progress !~ '\\u(0000|[dD][89a-fA-F])'
         then jsonb_build_object('progress', i.progress::jsonb) else '{}' end
  from unnest(p_ids, p_fences, p_progress) with ordinality i(id, fence, progress, number)
  join carillon.executions e on e.execution_id = i.id
  join carillon.leases l on l.lease_id = i.fence >> 10
  where (select carillon.hears_all()) or exists (
    select from carillon.event_listeners h where h.tenant = e.tenant and h.until > p_now)
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
  where exists (select from carillon.event_listeners h where h.until > p_now)
    and ((select carillon.hears_all()) or exists (
      select from carillon.event_listeners l where l.tenant = j.tenant and l.until > p_now))
  order by i.number;
end $$;
