-- Leases: who holds what. A fence is a lease and a place in it.

-- The fence under which an execution is held, found by its tag; null: it is not. e_*: as the ledger has it. Leases that migration 0014
-- made may cover several pools: their executions all have notes, which name the fence.
-- Indexes: leases_tag, lease_notes_pkey. Ranges of tags hardly overlap: the first lease that reaches the tag is the one.
create or replace function carillon.lease_of(e_pool text, e_lane smallint, e_tag bigint, e_id uuid, e_fence bigint default null)
returns bigint
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
  select coalesce((
    select f.fence from (
      select (l.lease_id << 10) + array_position(l.ids, e_id) - 1 fence from carillon.leases l
      where l.pool = e_pool and l.lane = e_lane and l.tag_high >= e_tag and l.tag_low <= e_tag
      order by l.tag_high) f
    where f.fence > coalesce(e_fence, -1) limit 1
  ), (
    select n.fence from carillon.lease_notes n join carillon.leases l on l.lease_id = n.fence >> 10
    where n.execution_id = e_id and n.fence > coalesce(e_fence, -1) and l.ids[(n.fence & 1023) + 1] = e_id))
$$;

-- What is held of executions, as `running` shows it, each found by its tag.
create or replace function carillon.held(e carillon.executions)
returns table (execution_id uuid, fence bigint, worker_id uuid, attempt int, leased_at timestamptz, overdue_at timestamptz, grace_sec int,
  heartbeat_timeout_sec int, heartbeat_at timestamptz, began boolean, progress text, cancel_at timestamptz, cancel_reason text,
  cancel_by text)
language sql stable rows 1
as $$
  select e.execution_id, f.fence, coalesce(n.worker_id, l.worker_id), e.attempt + 1, l.leased_at, coalesce(n.overdue_at, l.overdue_at),
    l.grace_sec, case when coalesce(n.worker_id, l.worker_id) <> '00000000-0000-0000-0000-000000000000' then l.heartbeat_timeout_sec end,
    coalesce(n.heartbeat_at, l.leased_at), coalesce(n.began, l.began), n.progress, n.cancel_at,
    n.cancel_reason, n.cancel_by
  from (select carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) fence where e.state is null) f
  join carillon.leases l on l.lease_id = f.fence >> 10
  left join carillon.lease_notes n on n.execution_id = e.execution_id and n.fence = f.fence
$$;

-- Of those that are named with their fences, those that are held: looked up by the fence. Locks: none.
-- Indexes: leases_pkey, executions_pkey, lease_notes_pkey; of a lease that is whole and without notes neither ledger nor notes are read.
create or replace function carillon.read_held(p_ids uuid[], p_fences bigint[])
returns table (execution_id uuid, fence bigint, worker_id uuid, cancel_reason text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
begin
  return query
  -- Each lease is read once, and its ids with it.
  with l as materialized (
    select x.lease_id, x.worker_id, x.noted, x.open = cardinality(x.ids) whole, x.ids || '{}'::uuid[] ids from carillon.leases x
    where x.lease_id = any (array(select distinct f >> 10 from unnest(p_fences) f)))
  select i.execution_id, i.fence, coalesce(n.worker_id, l.worker_id), case when n.cancel_at is not null then n.cancel_reason end
  from unnest(p_ids, p_fences) i(execution_id, fence) join l on l.lease_id = i.fence >> 10
  left join lateral (
    select * from carillon.lease_notes x where x.execution_id = case when l.noted then i.execution_id end and x.fence = i.fence offset 0) n on true
  where l.ids[(i.fence & 1023) + 1] = i.execution_id
    and (l.whole or exists (
      select from carillon.executions e
      where e.execution_id = i.execution_id and e.state is null and (e.fence is null or e.fence < i.fence) offset 0));
end $$;

-- All that workers hold, but for what they name: a lease of which as many are named as are held is not looked into. Reads all leases.
create or replace function carillon.read_unnamed(p_workers uuid[], p_fences bigint[])
returns table (execution_id uuid, fence bigint, worker_id uuid, began boolean, leased_at bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_bitmapscan = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
  select u.execution_id, u.fence, coalesce(n.worker_id, l.worker_id), coalesce(n.began, l.began), carillon.ms(l.leased_at)
  from carillon.leases l
  left join (select f >> 10 lease_id, count(*) count from unnest(p_fences) f group by 1) named on named.lease_id = l.lease_id
  cross join lateral (
    select x.id execution_id, (l.lease_id << 10) + x.place - 1 fence from unnest(l.ids) with ordinality x(id, place)
    where x.id is not null) u
  left join lateral (
    select * from carillon.lease_notes x where x.execution_id = case when l.noted then u.execution_id end and x.fence = u.fence offset 0) n on true
  where (l.worker_id = any (p_workers) or l.noted) and coalesce(n.worker_id, l.worker_id) = any (p_workers)
    and coalesce(named.count, 0) < l.open and not (u.fence = any (p_fences))
    and exists (select from carillon.executions e where e.execution_id = u.execution_id and e.state is null
      and (e.fence is null or e.fence < u.fence) offset 0);
end $$;

-- Locks the leases that these fences name, by id, and answers which of the entries they cover: by entry, its number. A note is written
-- only under this lock. p_skip: leases locked by other transactions are left out.
create or replace function carillon.hold_leases(p_ids uuid[], p_fences bigint[], p_skip boolean) returns int[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_leases bigint[] := array(select distinct f >> 10 from unnest(p_fences) f order by 1);
begin
  if p_skip then
    v_leases := array(select l.lease_id from carillon.leases l where l.lease_id = any (v_leases) order by l.lease_id for update skip locked);
  else
    v_leases := array(select l.lease_id from carillon.leases l where l.lease_id = any (v_leases) order by l.lease_id for update);
  end if;
  return array(
    select i.number::int from unnest(p_ids, p_fences) with ordinality i(id, fence, number)
    join carillon.leases l on l.lease_id = i.fence >> 10 and l.lease_id = any (v_leases)
    cross join lateral (select from carillon.executions e where e.execution_id = i.id and e.state is null
      and (e.fence is null or e.fence < i.fence) offset 0) e
    where l.ids[(i.fence & 1023) + 1] = i.id);
end $$;

-- Says that leases have notes. The caller holds them.
create or replace function carillon.mark_noted(p_fences bigint[]) returns void
language sql volatile
as $$
  update carillon.leases l set noted = true where l.lease_id = any (array(select distinct f >> 10 from unnest(p_fences) f)) and not l.noted
$$;

-- Leases that should have ended; see store/workers/sweep.ts. Leases locked by other transactions are left out.
create or replace function carillon.read_strays(
  p_now timestamptz, p_watched_ms float8, p_lost_ms float8, p_limit int, p_outside uuid, p_only uuid[] default null)
returns table (execution_id uuid, fence bigint, worker_id uuid, began boolean, attempt int, overdue boolean)
language plpgsql volatile
set enable_bitmapscan = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, now());
  v_live uuid[] := array(select w.worker_id from carillon.workers w where w.seen_at >= v_now - p_lost_ms * interval '1 millisecond');
  v_known uuid[] := array(select w.worker_id from carillon.workers w);
begin
  return query
  select u.execution_id, u.fence, c.worker_id, c.began, e.attempt + 1, o.overdue
  from (
    select * from carillon.leases x
    where x.noted or x.overdue_at < v_now or x.heartbeat_timeout_sec is not null
      or p_lost_ms is not null and x.worker_id <> p_outside and x.worker_id <> all (v_live)
    order by x.lease_id for share skip locked) l
  cross join lateral (
    select x.id execution_id, (l.lease_id << 10) + x.place - 1 fence from unnest(l.ids) with ordinality x(id, place)
    where x.id is not null and (p_only is null or x.id = any (p_only))) u
  left join lateral (
    select * from carillon.lease_notes x where x.execution_id = case when l.noted then u.execution_id end and x.fence = u.fence offset 0) n on true
  cross join lateral (
    select coalesce(n.worker_id, l.worker_id) worker_id, coalesce(n.began, l.began) began, coalesce(n.overdue_at, l.overdue_at) overdue_at,
      coalesce(n.heartbeat_at, l.leased_at) heartbeat_at) c
  cross join lateral (
    select coalesce(c.overdue_at < v_now
      or c.began and c.worker_id <> p_outside and c.heartbeat_at + l.heartbeat_timeout_sec * interval '1 second' < v_now
        and l.heartbeat_timeout_sec * 1000.0 <= p_watched_ms, false) overdue) o
  cross join lateral (
    select x.attempt from carillon.executions x where x.execution_id = u.execution_id and x.state is null
      and (x.fence is null or x.fence < u.fence) offset 0) e
  where o.overdue
    or p_lost_ms is not null and c.worker_id <> p_outside and c.worker_id <> all (v_live)
      and (l.leased_at < v_now - p_lost_ms * interval '1 millisecond' or c.worker_id = any (v_known))
  limit p_limit;
end $$;
