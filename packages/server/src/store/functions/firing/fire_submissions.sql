-- Moves submissions of callers' transactions into the ledger and the queue, after their commit; and what follows executions that have
-- ended, see fire_followers.
-- An id older than the kept history has no partition: it stays where it is until the inspector sets it aside. One whose id
-- the ledger has already is set aside.
-- Locks: shards (share), submissions (SKIP LOCKED), then see fire_followers.
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
  v_births carillon.birth[];
  v_following record;   -- numbers in v_places
  v_followed record;
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
  select array_agg(m.place) places, array_agg(p_tags[m.number]) tags into v_following
  from unnest(v_places, v_numbers) m(place, number)
  cross join lateral (select s.job_id from carillon.submissions s where s.ctid = m.place offset 0) u where u.job_id is not null;
  if v_following.places is not null then
    select * into v_followed from carillon.fire_followers(v_following.places, v_following.tags, v_now);
    delete from carillon.submissions u where u.execution_id = any (v_followed.moved);
    select array_agg(m.place), array_agg(m.number) into v_places, v_numbers from unnest(v_places, v_numbers) m(place, number)
    where m.place <> all (v_following.places);
  end if;
  select array_agg(b::carillon.birth) into v_births from (
    select u.execution_id id, u.execution_id job_id, null::int job_version, u.tenant, u.name, u.pool, u.lane, u.handler,
      p_tags[m.number] tag, false guarded, u.run_at scheduled_for, u.run_at due_at,
      u.run_at + (u.policy ->> 'startWithinSec')::numeric::int * interval '1 second' expires_at, d.deadline_at, u.payload, u.policy,
      u.labels, u.traceparent, null::text state, null::text reason, null::timestamptz skipped_last, null::int skipped_count,
      null::jsonb history, null::text "key", u.policy rules, carillon.birth_text(u.execution_id, u.execution_id, u.tenant, u.pool,
        u.handler, carillon.ms(u.run_at), carillon.ms(u.run_at), d.deadline_at, u.policy, u.payload, u.labels, u.traceparent) body
    from unnest(v_places, v_numbers) m(place, number)
    cross join lateral (select * from carillon.submissions s where s.ctid = m.place offset 0) u
    cross join lateral (select v_now + (u.policy ->> 'deadlineSec')::numeric::int * interval '1 second' deadline_at) d) b;
  if v_births is not null then
    moved := carillon.create_executions(v_now, 'SUBMIT', v_births);
    queued := carillon.hints_of(array(select b from unnest(v_births) b where b.id = any (moved)));
  end if;
  if coalesce(cardinality(moved), 0) < cardinality(v_places) then
    perform carillon.set_aside('FIRE of submissions', array_agg('submissions'::text),
      array_agg(jsonb_build_object('execution_id', u.execution_id)), array_agg(u.execution_id), array_agg('DUPLICATE_ID'::text),
      array_agg('the ledger has an execution with this id already'::text), v_now)
    from unnest(v_places) m(place)
    cross join lateral (select s.execution_id from carillon.submissions s where s.ctid = m.place offset 0) u
    where moved is null or u.execution_id <> all (moved) having count(*) > 0;
  end if;
  delete from carillon.submissions u where u.ctid = any (v_places);
  if v_following.places is not null then
    moved := moved || v_followed.moved;
    queued := coalesce(queued, '[]') || v_followed.queued;
  end if;
  return next;
end $$;
