-- Takes what callers enqueued in transactions of their own into the ledger and the queue, after their commit.
-- An id older than the kept history has no partition: it stays where it is until the inspector sets it aside. One whose id
-- the ledger has already is set aside.
-- Locks: shards (share), submissions (SKIP LOCKED).
create or replace function carillon.fire_submissions(
  p_shards smallint[], p_epochs bigint[], p_ids uuid[], p_tags bigint[], p_now timestamptz default null)
returns table (moved uuid[], queued jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_shards smallint[];
  -- What is locked: where each row lies, and its number in p_ids.
  v_places tid[];
  v_numbers bigint[];
  v_floor uuid;
begin
  v_shards := carillon.hold_shards(p_shards, p_epochs);
  if cardinality(v_shards) = 0 then
    return;
  end if;
  select floor_id into v_floor from carillon.installation;
  select array_agg(x.place), array_agg(x.number) into v_places, v_numbers from (
    -- Each entry is looked up by itself: see docs/decisions/0024-queues-look-empty.md.
    select u.place, i.number from unnest(p_ids) with ordinality i(execution_id, number)
    cross join lateral (
      select s.ctid place, s.execution_id, s.run_at, s.shard from carillon.submissions s
      where s.execution_id = i.execution_id offset 0 for update skip locked) u
    where carillon.ms(u.run_at) <= carillon.ms(v_now) and u.shard = any (v_shards) and u.execution_id >= v_floor
    order by u.execution_id) x;
  with due as materialized (
    select u.*, p_tags[m.number] tag from unnest(v_places, v_numbers) m(place, number)
    cross join lateral (select * from carillon.submissions s where s.ctid = m.place offset 0) u
  ), born as (
    insert into carillon.executions (execution_id, job_id, tenant, pool, lane, handler, tag, origin,
      scheduled_for, due_at, fired_at, deadline_at, expires_at, name, payload, policy, labels, traceparent)
    select d.execution_id, d.execution_id, d.tenant, d.pool, d.lane, d.handler, d.tag, 'SUBMIT',
      d.run_at, d.run_at, v_now, v_now + (d.policy ->> 'deadlineSec')::numeric::int * interval '1 second',
      d.run_at + (d.policy ->> 'startWithinSec')::numeric::int * interval '1 second',
      d.name, d.payload, d.policy, d.labels, d.traceparent
    from due d
    on conflict (execution_id) do nothing
    returning execution_id, pool, lane, tag, expires_at, deadline_at, tenant, name, handler, due_at
  ), in_deadlines as (
    insert into carillon.deadlines (execution_id, kind, due)
    select b.execution_id, 'START', b.expires_at from born b where b.expires_at is not null
    union all
    select b.execution_id, 'FINISH', b.deadline_at from born b where b.deadline_at is not null
  ), in_ready as (
    insert into carillon.ready (pool, lane, tag, execution_id)
    select b.pool, b.lane, b.tag, b.execution_id from born b
    returning pool, lane, tag, execution_id
  ), in_events as (
    insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
    select v_now, b.tenant, 'execution.fired', b.execution_id, b.execution_id, carillon.fired_detail(
      b.name, b.handler, b.pool, 'SUBMIT', b.due_at, b.due_at, null, null)
    from born b join carillon.event_listeners l on l.tenant = b.tenant and l.until > v_now
    where exists (select from carillon.event_listeners h where h.until > v_now))
  select array_agg(execution_id), (select jsonb_agg(jsonb_build_array(r.pool, r.lane, r.tag, r.count)) from (
      select pool, lane, min(tag) tag, count(*) count from in_ready group by pool, lane) r)
  into moved, queued from in_ready;
  if coalesce(cardinality(moved), 0) < cardinality(v_places) then
    perform carillon.set_aside('FIRE of submissions', array_agg('submissions'::text),
      array_agg(jsonb_build_object('execution_id', u.execution_id)), array_agg(u.execution_id), array_agg('DUPLICATE_ID'::text),
      array_agg('the ledger has an execution with this id already'::text), v_now)
    from unnest(v_places) m(place)
    cross join lateral (select s.execution_id from carillon.submissions s where s.ctid = m.place offset 0) u
    where moved is null or u.execution_id <> all (moved) having count(*) > 0;
  end if;
  delete from carillon.submissions u where u.ctid = any (v_places);
  return next;
end $$;
