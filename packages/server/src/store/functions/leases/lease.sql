-- LEASE: gives ready executions of one pool to waiting workers, smallest tags first.
--
-- p_from: per lane, the tag to read from (rows below were taken and are perhaps not vacuumed yet). p_since: per lane,
-- leases since a lower lane had one; of p_turn leases at least one is reserved for the lower lanes, which give it back
-- if they have no work. p_workers, p_prefetched: the groups of slots. p_groups, p_places: of each slot its group and its place there;
-- the slots of a group are neighbours, and the n-th row taken goes to the n-th slot. A prefetched one has not begun until the worker
-- says so. p_lanes, p_tags, p_ids: nothing but these rows, in the order of lane and tag; those that are not there are passed over. p_from
-- does not count then.
-- Returns, for each group and lane, how many it got, how far the lane was read, and the executions as the JSON that goes to
-- the worker, in the order of its slots: the node passes on what it does not have to read.
-- Locks: ready (SKIP LOCKED), of what has expired executions (SKIP LOCKED): LEASE never waits. Nothing else competes for a row:
-- CANCEL deletes it from `ready` first or finds its lease.
-- Indexes: ready_pkey. The ledger is read only for what `ready` does not carry and for listeners.
create or replace function carillon.lease_ready(
  p_pool text, p_from bigint[], p_since int[], p_turn int, p_workers uuid[], p_prefetched boolean[], p_groups int[], p_places int[],
  p_now timestamptz, p_lanes smallint[] default null, p_tags bigint[] default null, p_ids uuid[] default null)
returns table (worker_id uuid, lane smallint, leased int, reached bigint, executions text)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_slots int := cardinality(p_groups);
  v_used int := 0;
  v_empty boolean[] := array[false, false, false, false];
  v_lane smallint;
  v_limit int;
  v_ids uuid[];
  v_rows tid[];
  v_tags bigint[];
  v_bodies text[];
  v_groups int[];
  v_places int[];
  v_first int;
  v_leases bigint[];
  v_taken int;
  v_reached bigint;
  v_special boolean;
  -- Of each kind of rules: its group of slots, and what differs from the defaults.
  v_owners int[];
  v_timeouts int[];
  v_graces int[];
  v_heartbeats int[];
  v_announces boolean[];
begin
  if exists (select from carillon.pools p where p.pool = p_pool and p.paused) then
    return;
  end if;
  -- Down the lanes with the reservation for lower ones, then up again with what those had no work for: it goes back to
  -- the lane that gave it. Down again, the highest lane would have it, and one that was due its turn never came to it.
  for v_step in 0..6 loop
    exit when v_used >= v_slots;
    v_lane := least(v_step, 6 - v_step);
    continue when v_empty[v_lane + 1];
    v_limit := v_slots - v_used;
    if v_step < 3 then
      v_limit := v_limit - least(v_limit, (p_since[v_lane + 1] + v_limit) / p_turn);
      continue when v_limit = 0;
    end if;
    if p_ids is null then
      select array_agg(q.execution_id), array_agg(q.place), array_agg(q.tag), array_agg(q.body), count(*), max(q.tag), bool_or(q.special)
      into v_ids, v_rows, v_tags, v_bodies, v_taken, v_reached, v_special
      from (
        select r.execution_id, r.tag, r.ctid place, r.body,
          r.body is null or num_nonnulls(r.timeout_sec, r.grace_sec, r.heartbeat_timeout_sec, r.announce_start, r.expires_at) > 0 special
        from carillon.ready r
        where r.pool = p_pool and r.lane = v_lane and r.tag >= p_from[v_lane + 1]
        order by r.tag, r.execution_id limit v_limit for update skip locked) q;
    else
      select array_agg(q.execution_id), array_agg(q.place), array_agg(q.tag), array_agg(q.body), count(*), max(q.tag), bool_or(q.special)
      into v_ids, v_rows, v_tags, v_bodies, v_taken, v_reached, v_special
      from (
        select r.* from unnest(p_lanes, p_tags, p_ids) k(lane, tag, id) cross join lateral (
          select r.execution_id, r.tag, r.ctid place, r.body,
            r.body is null or num_nonnulls(r.timeout_sec, r.grace_sec, r.heartbeat_timeout_sec, r.announce_start, r.expires_at) > 0 special
          from carillon.ready r
          where r.pool = p_pool and r.lane = v_lane and r.tag = k.tag and r.execution_id = k.id for update skip locked) r
        where k.lane = v_lane limit v_limit) q;
    end if;
    v_empty[v_lane + 1] := v_taken < v_limit;
    continue when v_taken = 0;
    p_from[v_lane + 1] := v_reached;   -- the second time, what the first took is not walked over
    v_first := p_groups[v_used + 1];
    if v_special then
      -- Each kind of rules has leases of its own, and what cannot be leased is left out.
      select f.gone, f.ids, f.tags, f.bodies, f.groups, f.places, f.owners, f.timeouts, f.graces, f.heartbeats, f.announces
      into v_rows, v_ids, v_tags, v_bodies, v_groups, v_places, v_owners, v_timeouts, v_graces, v_heartbeats, v_announces
      from carillon.lease_specially(p_pool, v_lane, v_rows, p_groups[v_used + 1 :], v_now) f;
      v_first := 1;
    else
      v_owners := null;
      v_groups := p_groups[v_used + 1 : v_used + v_taken];
      v_places := p_places[v_used + 1 : v_used + v_taken];
      if v_places[1] > 0 then   -- the lane before took the first slots of the group
        v_places := array(select i.place - case when i.grp = v_first then v_places[1] else 0 end
                          from unnest(v_groups, v_places) i(grp, place));
      end if;
    end if;
    delete from carillon.ready r where r.ctid = any (v_rows);
    v_used := v_used + v_taken;
    continue when coalesce(cardinality(v_ids), 0) = 0;
    v_leases := array(select nextval('carillon.lease_ids') from generate_series(v_first, v_groups[cardinality(v_groups)]));

    return query
    with grouped as (
      select t.grp - v_first + 1 nth, coalesce(v_owners[t.grp], t.grp) owner, array_agg(t.id) ids,
        count(*)::int n, min(t.tag) low, max(t.tag) high,
        string_agg('{"fence":' || ((v_leases[t.grp - v_first + 1] << 10) + t.place) || ',' || t.body || '}', ',') text
      from unnest(v_ids, v_tags, v_bodies, v_groups, v_places) t(id, tag, body, grp, place)
      group by t.grp
    ), written as (
      insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec,
        heartbeat_timeout_sec, began, open, ids)
      select v_leases[g.nth], p_workers[g.owner], p_pool, v_lane, g.low, g.high, v_now,
        v_now + (coalesce(r.timeout_sec, carillon.default_timeout_sec()) + r.grace_sec) * interval '1 second', r.grace_sec,
        r.heartbeat_timeout_sec, not p_prefetched[g.owner] and r.announce_start is not true, g.n, g.ids
      from grouped g cross join lateral (
        select case when v_special then v_timeouts[g.nth] end timeout_sec,
          coalesce(case when v_special then v_graces[g.nth] end, carillon.default_grace_sec()) grace_sec,
          case when v_special then v_heartbeats[g.nth] end heartbeat_timeout_sec,
          case when v_special then v_announces[g.nth] end announce_start) r)
    select p_workers[g.owner], v_lane, g.n, v_reached, g.text from grouped g;
    if carillon.has_listeners(v_now) then
      perform carillon.tell_leased(v_ids, array(select p_workers[coalesce(v_owners[g], g)] from unnest(v_groups) g), v_now);
    end if;
  end loop;
end $$;

-- For nodes of the version before: they look for the rows that p_only names.
create or replace function carillon.lease(
  p_pool text, p_from bigint[], p_since int[], p_turn int, p_workers uuid[], p_prefetched boolean[], p_groups int[], p_places int[],
  p_now timestamptz, p_only uuid[] default null)
returns table (worker_id uuid, lane smallint, leased int, reached bigint, executions text)
language sql volatile
as $$
  select l.* from (
    select array_agg(r.lane order by r.lane, r.tag) lanes, array_agg(r.tag order by r.lane, r.tag) tags,
      array_agg(r.execution_id order by r.lane, r.tag) ids
    from carillon.ready r where r.pool = p_pool and r.execution_id = any (p_only)) k
  cross join lateral carillon.lease_ready(p_pool, p_from, p_since, p_turn, p_workers, p_prefetched, p_groups, p_places, p_now,
    k.lanes, k.tags, case when p_only is not null then coalesce(k.ids, '{}') end) l;
$$;

-- Of rows of `ready` that are being leased, those that can be: with the bodies that were too long to be carried, each kind of rules a
-- group of its own. p_groups: of each slot its group. Answers, by row: ids, tags, bodies, groups (from 1) and places; by group: its
-- group of slots (owners) and its rules. What has expired ends as SKIPPED; what is being ended right now stays where it was. One that
-- the ledger does not know, or not so, is raised: see find_unusable_ready.
create or replace function carillon.lease_specially(
  p_pool text, p_lane smallint, p_rows tid[], p_groups int[], p_now timestamptz,
  out gone tid[], out ids uuid[], out tags bigint[], out bodies text[], out groups int[], out places int[],
  out owners int[], out timeouts int[], out graces int[], out heartbeats int[], out announces boolean[])
language plpgsql volatile
set enable_sort = on
as $$
#variable_conflict use_column
declare
  v_unusable uuid;
  v_why text;
  v_expired uuid[];
  v_ended uuid[];
  v_staying uuid[] := '{}';   -- locked by a concurrent end: they stay in `ready`, where it expects them
begin
  with taken as materialized (
    select m.n, r.*, coalesce(r.body, b.body) text,
      case when r.body is not null then null
           when b.execution_id is null then 'NO_LEDGER_ROW'
           when b.state is not null then 'HAS_ENDED'
           when carillon.lease_of(b.pool, b.lane, b.tag, b.execution_id) is not null then 'RUNS_ALREADY'
           when b.tag <> r.tag or b.pool <> r.pool or b.lane <> r.lane then 'READY_ELSEWHERE'
           when not carillon.is_usable_policy(b.policy) then 'POLICY'
           -- One that is not JSON is raised by this: it would spoil the whole answer to the worker.
           when ('{' || b.body || '}')::json is null then 'JSON' end unusable,
      coalesce(r.expires_at <= p_now, false) expired
    from unnest(p_rows) with ordinality m(place, n)
    cross join lateral (select * from carillon.ready x where x.ctid = m.place offset 0) r
    left join carillon.read_bodies(array(
      select x.execution_id from unnest(p_rows) m(place)
      cross join lateral (select * from carillon.ready y where y.ctid = m.place offset 0) x where x.body is null)) b
      on b.execution_id = r.execution_id
  ), fit as (
    select t.*, p_groups[t.n] owner from taken t where t.unusable is null and not t.expired
  ), ranked as (
    select f.*, dense_rank() over w grp, row_number() over (partition by f.owner, f.timeout_sec, f.grace_sec, f.heartbeat_timeout_sec,
      f.announce_start order by f.n)::int - 1 nth
    from fit f window w as (order by f.owner, f.timeout_sec, f.grace_sec, f.heartbeat_timeout_sec, f.announce_start))
  select array_agg(r.execution_id order by r.grp, r.nth), array_agg(r.tag order by r.grp, r.nth), array_agg(r.text order by r.grp, r.nth),
    array_agg(r.grp::int order by r.grp, r.nth), array_agg(r.nth order by r.grp, r.nth),
    array_agg(r.owner order by r.grp) filter (where r.nth = 0), array_agg(r.timeout_sec order by r.grp) filter (where r.nth = 0),
    array_agg(r.grace_sec order by r.grp) filter (where r.nth = 0),
    array_agg(r.heartbeat_timeout_sec order by r.grp) filter (where r.nth = 0),
    array_agg(r.announce_start order by r.grp) filter (where r.nth = 0),
    (select t.execution_id from taken t where t.unusable is not null order by t.n limit 1),
    (select t.unusable from taken t where t.unusable is not null order by t.n limit 1),
    (select array_agg(t.execution_id) from taken t where t.expired and t.unusable is null)
  into ids, tags, bodies, groups, places, owners, timeouts, graces, heartbeats, announces, v_unusable, v_why, v_expired
  from ranked r;

  if v_unusable is not null then
    raise exception 'carillon: execution % cannot be leased (%)', v_unusable, v_why using errcode = '22023';
  end if;
  if v_expired is not null then
    v_ended := carillon.end_expired(v_expired, p_now);
    v_staying := array(select i from unnest(v_expired) i where i <> all (v_ended));
  end if;
  gone := array(
    select m.place from unnest(p_rows) m(place) cross join lateral (select * from carillon.ready x where x.ctid = m.place offset 0) r
    where r.execution_id <> all (v_staying));
end $$;

-- Ends executions whose start window has passed, as SKIPPED, unless they are locked; returns which. Steps are left to the sweeper: what
-- counts down others may have to wait for them, and LEASE never waits.
-- Locks: executions (SKIP LOCKED), then see release_waiting.
create or replace function carillon.end_expired(p_ids uuid[], p_now timestamptz) returns uuid[]
language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  v_held uuid[] := array(
    select e.execution_id from unnest(p_ids) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id
    where e.state is null and e.origin <> 'DAG' order by e.execution_id for no key update of e skip locked);
begin
  return (carillon.end_executions(p_now, v_held, array_fill('SKIPPED'::text, array[cardinality(v_held)]),
    p_reasons => array_fill('EXPIRED'::text, array[cardinality(v_held)]))).ended;
end $$;
