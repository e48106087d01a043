-- The one place where executions come into being and become ready: ledger rows, and for those that have not ended their place in
-- `ready`, or in `waiting` if something is in their way, their start windows and deadlines, and what listeners are told.
--
-- p_origin null: the ledger has them, and they only become ready again. p_admitted false: they come back through `retries`, which the
-- caller writes. p_fired_at: when they were put on record, if not now. An id that the ledger has already is left out; p_fresh: there
-- is none, because the ids are new. What has limits waits for ADMIT, unless that is the caller (p_limited false). Returns which were
-- created.
-- Locks: its own rows, by id if they come sorted; the caller keeps others from creating the same ones.
-- Figures: one statement unfolds all rows once. [m] SUBMIT(500) median 21.2 -> 18.5 us an execution, best 16.8 -> 16.5, beside a
-- statement for each table. Looking for those that are there costs 3 buffers a row, as ON CONFLICT would; SUBMIT does without.
create or replace function carillon.create_executions(
  p_now timestamptz, p_origin text, p_births carillon.birth[], p_admitted boolean default true, p_fired_at timestamptz default null,
  p_actor text default null, p_fresh boolean default false, p_limited boolean default true)
returns uuid[]
language plpgsql volatile
as $$
declare
  v_fired_at timestamptz := coalesce(p_fired_at, p_now);
  v_known uuid[];
  v_ids uuid[];
  v_waiting boolean;
  v_timed boolean;
  v_ended boolean;
begin
  if not p_fresh then
    v_known := array(select e.execution_id from unnest(p_births) b cross join lateral (
      select x.execution_id from carillon.executions x where x.execution_id = b.id offset 0) e);
    if v_known <> '{}' then
      p_births := array(select b from unnest(p_births) b where b.id <> all (v_known));
    end if;
  end if;
  if coalesce(cardinality(p_births), 0) = 0 then
    return '{}';
  end if;
  -- Hardly ever is anything in the table.
  if p_limited and p_admitted and exists (select from carillon.limits) and (
      exists (select from carillon.limits l where l.scope <> 'KEY') or exists (select from unnest(p_births) b where b.rules ? 'limitKeys')) then
    p_births := carillon.with_limits(p_births, p_origin is null);
  end if;
  with b as materialized (
    select * from unnest(p_births)
  ), in_ledger as (
    insert into carillon.executions (execution_id, job_id, job_version, tenant, name, pool, lane, handler, tag, origin, guarded,
      scheduled_for, due_at, fired_at, expires_at, deadline_at, payload, policy, labels, traceparent, state, reason, finished_at,
      skipped_last, skipped_count, history)
    select b.id, b.job_id, b.job_version, b.tenant, b.name, b.pool, b.lane, b.handler,
      case when b.state is null and b.key is null and p_admitted then b.tag else -1 end, p_origin, coalesce(b.guarded, false),
      b.scheduled_for, b.due_at, v_fired_at, b.expires_at, b.deadline_at, b.payload, b.policy, b.labels, b.traceparent,
      b.state, b.reason, case when b.state is not null then v_fired_at end, b.skipped_last, b.skipped_count, b.history
    from b where p_origin is not null
  ), in_ready as (
    insert into carillon.ready (pool, lane, tag, execution_id, body, timeout_sec, grace_sec, heartbeat_timeout_sec, announce_start,
      expires_at)
    select b.pool, b.lane, b.tag, b.id, b.body, ceil((b.rules ->> 'timeoutSec')::numeric)::int,
      (b.rules ->> 'cancelGraceSec')::numeric::int, (b.rules ->> 'heartbeatTimeoutSec')::numeric::int,
      case when b.rules ->> 'delivery' = 'AT_MOST_ONCE' then true end, b.expires_at
    from b where b.key is null and b.state is null and p_admitted)
  select array_agg(b.id), bool_or(b.key is not null and b.state is null), bool_or(coalesce(b.expires_at, b.deadline_at) is not null),
    bool_or(b.state is not null)
  into v_ids, v_waiting, v_timed, v_ended from b;
  if v_waiting and p_admitted then
    insert into carillon.waiting (execution_id, key, tenant)
    select b.id, b.key, case when b.key like 'limit:%' then b.tenant end from unnest(p_births) b where b.key is not null and b.state is null;
    insert into carillon.limit_changes (key, freed)
    select distinct b.key, 0 from unnest(p_births) b where b.key like 'limit:%' and b.state is null;
    insert into carillon.limit_refunds (pool, lane, tenant, count)
    select b.pool, b.lane, b.tenant, count(*) from unnest(p_births) b where b.key like 'limit:%' and b.state is null group by 1, 2, 3;
  end if;
  if p_origin is null then
    return v_ids;
  end if;
  if v_timed then
    insert into carillon.deadlines (execution_id, kind, due)
    select b.id, d.kind, d.due from unnest(p_births) b
    cross join lateral (values ('START', b.expires_at), ('FINISH', b.deadline_at)) d(kind, due)
    where d.due is not null and b.state is null;
  end if;
  if v_ended then
    perform carillon.record_ends(array_agg(b.id), array_agg(b.tenant), array_agg(b.state)) from unnest(p_births) b
    where b.state is not null;
  end if;
  if carillon.has_listeners(p_now) then
    perform carillon.tell_executions(v_ids, 'fired', p_actor, p_now);
  end if;
  return v_ids;
end $$;

-- What became ready, for the hints: [pool, lane, smallest tag, count] of each lane.
create or replace function carillon.hints_of(p_births carillon.birth[]) returns jsonb
  language sql immutable
begin atomic
  select jsonb_agg(jsonb_build_array(r.pool, r.lane, r.tag, r.count)) from (
    select b.pool, b.lane, min(b.tag) tag, count(*) count from unnest(p_births) b
    where b.key is null and b.state is null group by b.pool, b.lane) r;
end;

-- Puts executions of the ledger into `ready` again, under the tags that it has now. Returns the hints.
-- Locks: none; the caller holds the ledger rows.
create or replace function carillon.readmit(p_ids uuid[]) returns jsonb
language plpgsql volatile
as $$
declare
  v_births carillon.birth[];
begin
  select array_agg(row(b.execution_id, null, null, null, null, b.pool, b.lane, null, b.tag, null, null, null, b.expires_at, null, null,
    null, null, null, null, null, null, null, null, null, b.policy,
    case when carillon.is_carried(b.length) then b.body end)::carillon.birth)
  into v_births from carillon.read_bodies(p_ids) b;
  perform carillon.create_executions(null, null, v_births, p_fresh => true);
  return carillon.hints_of(v_births);
end $$;
