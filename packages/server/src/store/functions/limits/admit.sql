-- What ADMIT may admit now. Looks at keys of which something has changed and at those whose rate allows something again, p_most of either, for
-- about p_most candidates. Locks nothing: ADMIT looks again. `seen`: the changes that were there.
--
-- A limit of one tenant admits what was to start first. Where tenants share a limit they take turns by weight: start tags, as in
-- domain/fairness.ts. Answers the keys it has looked at; which of them have more; for each candidate the key it waits for, its start tag
-- and what it costs there; and when the next rate allows something.
-- Indexes: limit_changes_key, limit_keys_next, waiting_turns.
create or replace function carillon.read_admissible(p_most int, p_now timestamptz default null)
returns table (keys text[], seen bigint[], unfinished text[], ids uuid[], waits text[], starts bigint[], costs bigint[], tenants text[], pools text[],
  lanes smallint[], next_at bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_each int;   -- how many of a key
begin
  keys := array(
    (select distinct c.key from carillon.limit_changes c limit p_most)
    union
    (select k.key from carillon.limit_keys k where k.next_at <= v_now
      and exists (select from carillon.waiting w where w.key = k.key and w.tenant is not null) limit p_most));
  select carillon.ms(k.next_at) into next_at from carillon.limit_keys k
  where k.next_at > v_now and exists (select from carillon.waiting w where w.key = k.key and w.tenant is not null)
  order by k.next_at limit 1;
  unfinished := '{}';
  ids := '{}';
  if keys = '{}' then
    seen := '{}';
    return next;
    return;
  end if;
  v_each := greatest(p_most / greatest(cardinality(keys), 1), 4);
  seen := array(select c.change_id from unnest(keys) k(key) cross join lateral (
    select x.change_id from carillon.limit_changes x where x.key = k.key offset 0) c);
  with rooms as materialized (
    select k.key, r.room, r.shared, r.virtual_time from unnest(keys) k(key) cross join lateral carillon.limit_room(k.key, v_now) r
  ), found as (
    select o.key, w.execution_id, 0::bigint start, 0::bigint cost from rooms o cross join lateral (
      select y.execution_id from carillon.waiting y where y.key = o.key and y.tenant is not null
      order by y.tenant, y.execution_id limit least(o.room, v_each)) w
    where not o.shared
    union all
    select o.key, t.execution_id, t.start, t.cost from rooms o cross join lateral
      carillon.turns_at(o.key, o.virtual_time, least(o.room, v_each)) t
    where o.shared
  ), counted as (
    select f.key, count(*) n from found f group by f.key)
  select array_agg(f.execution_id order by f.start, f.execution_id), array_agg(f.key order by f.start, f.execution_id),
    array_agg(f.start order by f.start, f.execution_id), array_agg(f.cost order by f.start, f.execution_id),
    array(select c.key from counted c join rooms o on o.key = c.key where c.n = v_each and o.room > v_each)
  into ids, waits, starts, costs, unfinished from found f;
  ids := coalesce(ids, '{}');
  select array_agg(e.tenant order by i.number), array_agg(e.pool order by i.number), array_agg(e.lane order by i.number) into tenants, pools, lanes
  from unnest(ids) with ordinality i(id, number)
  left join lateral (select * from carillon.executions x where x.execution_id = i.id offset 0) e on true;
  return next;
end $$;

-- Whose turn it is at a limit that tenants share: the next p_most, by start tags.
create or replace function carillon.turns_at(p_key text, p_virtual_time bigint, p_most int)
returns table (execution_id uuid, start bigint, cost bigint)
language sql stable
as $$
  with recursive tenants (tenant) as (
    (select w.tenant from carillon.waiting w where w.key = p_key and w.tenant is not null order by w.tenant limit 1)
    union all
    select (select w.tenant from carillon.waiting w where w.key = p_key and w.tenant is not null and w.tenant > t.tenant order by w.tenant limit 1)
    from tenants t where t.tenant is not null)
  select x.execution_id, greatest(p_virtual_time, coalesce(f.finish, 0)) + (x.place - 1) * c.cost, c.cost
  from tenants t
  left join carillon.limit_turns f on f.key = p_key and f.tenant = t.tenant
  cross join lateral (
    select coalesce(max(round(65536.0 / o.weight)), 65536)::bigint cost from carillon.tenants o where o.name = t.tenant) c
  cross join lateral (
    select w.execution_id, row_number() over (order by w.execution_id) place from (
      select y.execution_id from carillon.waiting y where y.key = p_key and y.tenant = t.tenant order by y.execution_id limit p_most) w) x
  where t.tenant is not null
  order by 2, t.tenant, 1 limit p_most
$$;

-- How many a key may admit now, and where its rate stands: `counted_from` plus an interval for each that is admitted is the next time. Of
-- a limit that is gone there is room for all.
create or replace function carillon.limit_room(p_key text, p_now timestamptz)
returns table (room int, shared boolean, virtual_time bigint, concurrency int, taken int, counted_from timestamptz, every_sec float8)
language sql stable
as $$
  select case when l.limit_id is null then 1000000000
      else greatest(0, least(coalesce(l.concurrency - k.taken, 1000000000), r.room)) end,
    l.limit_id is not null and l.tenant is null, k.virtual_time, l.concurrency, k.taken, r.counted_from, r.every_sec
  from (
    select coalesce(max(x.taken), 0) - coalesce((select sum(c.freed) from carillon.limit_changes c where c.key = p_key), 0)::int taken,
      max(x.next_at) next_at, coalesce(max(x.virtual_time), 0) virtual_time
    from carillon.limit_keys x where x.key = p_key) k
  left join carillon.limits l on l.limit_id = split_part(p_key, ':', 2)::int
  cross join lateral (
    select case when l.rate_count is null then 1000000000 when a.counted_from > p_now then 0
        else floor(extract(epoch from p_now - a.counted_from)::float8 / a.every_sec)::int + 1 end room, a.counted_from, a.every_sec
    from (
      -- What was not used in time is lost, but for a fifth of a second of it.
      select greatest(k.next_at, p_now - greatest(0.2 - e.every_sec, 0) * interval '1 second') counted_from, e.every_sec
      from (select l.rate_sec::float8 / l.rate_count every_sec) e) a) r
$$;

-- ADMIT: gives slots to what waits for limits, and makes it ready. The only place where slots are given away.
--
-- p_*: as read_admissible has answered, with a tag for each candidate. All slots of an execution at once, or none: one whose other key is
-- full waits for that key. Answers what has become ready, and whether there is something to be looked at again.
-- Locks: executions by id, limit_keys by key; rows of `waiting` that nobody else may take; then see take_back.
create or replace function carillon.admit(
  p_keys text[], p_seen bigint[], p_unfinished text[], p_ids uuid[], p_waits text[], p_starts bigint[], p_costs bigint[], p_tags bigint[],
  p_now timestamptz default null)
returns table (moved uuid[], queued jsonb, more boolean)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  -- Of the candidates: their places in p_*, what becomes of them if they are admitted, their keys as a list, and where in v_keys the only one
  -- is; null: there is none, or there are several.
  v_numbers int[];
  v_births carillon.birth[];
  v_lists jsonb[];
  v_firsts int[];
  v_keys text[];        -- all that are locked
  v_looked text[];      -- to be looked at again
  v_room record;        -- of each key
  v_rooms int[];
  v_used int[];
  v_waiting uuid[];
  v_full text;
  v_at int;
  v_key text;
  v_elsewhere uuid[] := '{}';   -- wait for another key from now on
  v_elsewhere_keys text[] := '{}';
  v_admitted int[] := '{}';     -- places in v_numbers
begin
  perform from unnest(p_ids) i(execution_id) join carillon.executions e on e.execution_id = i.execution_id
  where e.state is null order by e.execution_id for no key update of e;
  -- Whatever takes them out of `waiting` holds their ledger rows, too.
  v_waiting := array(
    select w.execution_id from unnest(p_ids, p_waits) i(id, key) join carillon.waiting w on w.execution_id = i.id and w.key = i.key);
  -- One that comes out of quarantine may hold slots already.
  perform carillon.free_slots(v_waiting);
  select array_agg(c.number), array_agg(c.birth), array_agg(to_jsonb(c.keys)) into v_numbers, v_births, v_lists
  from (
    select b.execution_id id, a.number, coalesce(carillon.limit_keys_of(e.tenant, e.pool, e.handler, e.job_id, b.policy), '{}') keys,
      row(b.execution_id, null, null, e.tenant, null, e.pool, e.lane, null, p_tags[a.number], null, null, null, b.expires_at, null, null, null, null, null,
        null, null, null, null, null, null, b.policy, case when carillon.is_carried(b.length) then
          b.body end)::carillon.birth birth
    from carillon.read_bodies(v_waiting) b
    cross join lateral (select array_position(p_ids, b.execution_id) number offset 0) a
    cross join lateral (select * from carillon.executions x where x.execution_id = b.execution_id offset 0) e
    where b.state is null order by a.number) c;

  v_keys := array(
    select k.key from (
      select unnest(p_keys) key union select jsonb_array_elements_text(u.keys) from unnest(v_lists) u(keys)) k
    order by k.key collate "C");
  insert into carillon.limit_keys (key) select k from unnest(v_keys) k where split_part(k, ':', 2)::int in (select l.limit_id from carillon.limits l)
  on conflict do nothing;
  perform from carillon.limit_keys k where k.key = any (v_keys) order by k.key for update;

  -- From here on, each statement sees what was committed before the locks were there.
  with gone as (
    delete from carillon.limit_changes c where c.key = any (v_keys) returning c.change_id, c.key, c.freed
  ), sums as (
    select g.key, sum(g.freed)::int freed, bool_or(g.change_id <> all (p_seen)) unseen from gone g group by g.key
  ), counted as (
    update carillon.limit_keys k set taken = k.taken - s.freed from sums s where k.key = s.key and s.freed > 0)
  select coalesce(array_agg(s.key), '{}') into v_looked from sums s where s.unseen;
  select array_agg(k.key order by k.number) keys, array_agg(r.room order by k.number) room, array_agg(r.counted_from order by k.number) counted_from,
    array_agg(r.every_sec order by k.number) every_sec, array_agg(r.shared order by k.number) shared,
    array_agg(r.taken - r.concurrency order by k.number) above
  into v_room
  from unnest(v_keys) with ordinality k(key, number) cross join lateral carillon.limit_room(k.key, v_now) r;
  v_rooms := v_room.room;
  v_used := array_fill(0, array[coalesce(cardinality(v_keys), 0)]);
  v_firsts := array(
    select case jsonb_array_length(u.list) when 1 then width_bucket((u.list ->> 0) collate "C", v_keys) end from unnest(v_lists) with ordinality u(list, number)
    order by u.number);

  for v_place in 1..coalesce(cardinality(v_numbers), 0) loop
    v_at := v_firsts[v_place];
    -- Most have one key.
    if v_at is not null then
      if v_rooms[v_at] > v_used[v_at] then
        v_used[v_at] := v_used[v_at] + 1;
        v_admitted := v_admitted || v_place;
      elsif v_keys[v_at] <> p_waits[v_numbers[v_place]] then
        v_elsewhere := v_elsewhere || p_ids[v_numbers[v_place]];
        v_elsewhere_keys := v_elsewhere_keys || v_keys[v_at];
        v_looked := v_looked || p_waits[v_numbers[v_place]];
      end if;
      continue;
    end if;
    v_full := null;
    for v_key in select jsonb_array_elements_text(v_lists[v_place]) loop
      v_at := array_position(v_keys, v_key);
      if v_rooms[v_at] <= v_used[v_at] then
        v_full := v_key;
        exit;
      end if;
    end loop;
    if v_full is null then
      for v_key in select jsonb_array_elements_text(v_lists[v_place]) loop
        v_at := array_position(v_keys, v_key);
        v_used[v_at] := v_used[v_at] + 1;
      end loop;
      v_admitted := v_admitted || v_place;
    elsif v_full <> p_waits[v_numbers[v_place]] then
      v_elsewhere := v_elsewhere || p_ids[v_numbers[v_place]];
      v_elsewhere_keys := v_elsewhere_keys || v_full;
      -- Whatever waits behind it may have the slot.
      v_looked := v_looked || p_waits[v_numbers[v_place]];
    end if;
  end loop;

  if cardinality(v_admitted) < cardinality(v_numbers) then
    v_births := array(select v_births[a] from unnest(v_admitted) a);
  end if;
  moved := array(select p_ids[v_numbers[a]] from unnest(v_admitted) a);
  if moved <> '{}' then
    delete from carillon.waiting w where w.execution_id = any (moved);
    -- A limit without concurrency has no slots.
    insert into carillon.limit_holds (execution_id, key)
    select p_ids[v_numbers[a]], k.key from unnest(v_admitted) a cross join lateral jsonb_array_elements_text(v_lists[a]) k(key)
    where v_room.above[coalesce(v_firsts[a], array_position(v_keys, k.key))] is not null;
    update carillon.limit_keys k
    set taken = k.taken + case when u.above is not null then u.used else 0 end,
      next_at = case when u.every_sec is not null then u.counted_from + u.used * u.every_sec * interval '1 second' end
    from unnest(v_room.keys, v_used, v_room.above, v_room.counted_from, v_room.every_sec) u(key, used, above, counted_from, every_sec)
    where k.key = u.key and u.used > 0;
    if true = any (v_room.shared) then
      with turns as (
        select p_waits[n] key, e.tenant, max(p_starts[n]) start, max(p_starts[n] + p_costs[n]) finish
        from unnest(v_admitted) a cross join lateral (select v_numbers[a] n offset 0) i join carillon.executions e on e.execution_id = p_ids[n]
        where v_room.shared[array_position(v_keys, p_waits[n])] group by 1, 2
      ), finishes as (
        insert into carillon.limit_turns as f (key, tenant, finish) select t.key, t.tenant, t.finish from turns t order by 1, 2
        on conflict (key, tenant) do update set finish = greatest(f.finish, excluded.finish))
      update carillon.limit_keys k set virtual_time = greatest(k.virtual_time, t.start)
      from (select t.key, max(t.start) start from turns t group by t.key) t where k.key = t.key;
    end if;
    update carillon.executions e set tag = b.tag from unnest(v_births) b where e.execution_id = b.id;
    perform carillon.create_executions(null, null, v_births, p_fresh => true, p_limited => false);
    queued := carillon.hints_of(v_births);
  end if;
  if v_elsewhere <> '{}' then
    update carillon.waiting w set key = x.key from unnest(v_elsewhere, v_elsewhere_keys) x(id, key) where w.execution_id = x.id;
  end if;
  for v_at in select u.number from unnest(v_room.above) with ordinality u(above, number) where u.above > 0 loop
    perform carillon.take_back(v_room.keys[v_at], v_room.above[v_at]);
  end loop;
  -- Whenever something waits for a key that has room, the key is named here: those of which a change was counted without a look at what
  -- waits for them, those of which not all was read, and those whose candidates left their slots to others.
  v_looked := v_looked || p_unfinished || array(select i.key from unnest(p_ids, p_waits) i(id, key) where i.id <> all (v_waiting));
  more := v_looked <> '{}';
  if more then
    insert into carillon.limit_changes (key, freed) select distinct k, 0 from unnest(v_looked) k;
  end if;
  return next;
end $$;

-- Takes slots back of a key that has more than its limit allows, since that was lowered: what is ready and has not started waits again,
-- the last first. What runs is left alone. The caller holds the key.
-- Locks: ready (SKIP LOCKED), its own rows.
create or replace function carillon.take_back(p_key text, p_count int) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_ids uuid[];
begin
  with found as (
    select q.ctid place, q.execution_id from carillon.limit_holds h
    join carillon.executions e on e.execution_id = h.execution_id and e.state is null
    join carillon.ready q on q.pool = e.pool and q.lane = e.lane and q.tag = e.tag and q.execution_id = e.execution_id
    where h.key = p_key order by q.tag desc limit p_count for update of q skip locked
  ), gone as (
    delete from carillon.ready q using found f where q.ctid = f.place and q.execution_id = f.execution_id returning q.execution_id)
  select array_agg(g.execution_id) into v_ids from gone g;
  if v_ids is null then
    return;
  end if;
  insert into carillon.waiting (execution_id, key, tenant)
  select e.execution_id, p_key, e.tenant from unnest(v_ids) i(id) join carillon.executions e on e.execution_id = i.id;
  perform carillon.free_slots(v_ids);
end $$;

-- Compares what the keys count with who holds slots; answers keys that had lost slots, with how many. Each is a defect, and mended. Slots of
-- executions that have ended are given back. Removes keys that say nothing.
-- Reads all keys and who holds their slots. Locks: limit_keys by key.
create or replace function carillon.check_slots(p_now timestamptz default null) returns table (key text, leaked int)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  perform from carillon.limit_keys k order by k.key for update;
  return query
  with gone as (
    delete from carillon.limit_holds h using carillon.executions e
    where e.execution_id = h.execution_id and e.state is not null returning h.key
  ), ended as (
    select g.key, count(*)::int n from gone g group by g.key
  ), found as (
    select k.key, k.taken - coalesce((select sum(c.freed)::int from carillon.limit_changes c where c.key = k.key), 0) taken,
      (select count(*)::int from carillon.limit_holds h where h.key = k.key) - coalesce(d.n, 0) held
    from carillon.limit_keys k left join ended d on d.key = k.key
  ), mended as (
    update carillon.limit_keys k set taken = k.taken + f.held - f.taken from found f where k.key = f.key and f.held <> f.taken
    returning k.key, f.taken - f.held leaked
  ), changes as (
    insert into carillon.limit_changes (key, freed) select m.key, 0 from mended m)
  -- While no limit is declared, nothing that ends looks for slots: those of deleted limits are not lost.
  select m.key, m.leaked from mended m where exists (select from carillon.limits l where l.limit_id = split_part(m.key, ':', 2)::int);
  delete from carillon.limit_keys k
  where k.taken = 0 and (k.next_at is null or k.next_at < v_now)
    and not exists (select from carillon.waiting w where w.key = k.key) and not exists (select from carillon.limit_changes c where c.key = k.key);
  delete from carillon.limit_turns t where not exists (select from carillon.limit_keys k where k.key = t.key);
end $$;
