-- LEASE: gives ready executions of one pool to waiting workers, smallest tags first.
--
-- p_from: per lane, the tag to read from (rows below were taken and are perhaps not vacuumed yet). p_since: per lane,
-- leases since a lower lane had one; of p_turn leases at least one is reserved for the lower lanes, which give it back
-- if they have no work. p_workers/p_prefetched: one entry per free slot; the n-th row taken goes to the n-th slot. A
-- prefetched one has not begun until the worker says so.
-- Locks: ready (SKIP LOCKED), of what has expired executions (SKIP LOCKED): LEASE never waits. The row moves to `running`
-- with the next fence. Nothing else competes for it: CANCEL deletes it from `ready` first or finds it in `running`.
-- Indexes: ready_pkey, executions_pkey (the partition is picked per row), jobs_by_id, job_versions_pkey; a key that is
-- null costs no look into its index, so a definition is searched only where it can be.
-- Figures (test/integration/plans): 13 buffers a row and 9 besides, whatever is at rest. With a look into job_versions for
-- each row, the jobs by their primary key and the first rows walked over twice 18. [m] 1,000 rows: the quickest 19 to 20 ms
-- of CPU, before 20 to 22.
create or replace function carillon.lease(
  p_pool text, p_from bigint[], p_since int[], p_turn int, p_workers uuid[], p_prefetched boolean[],
  p_timeout_sec int, p_grace_sec int, p_now timestamptz default null)
returns table (
  worker_id uuid, execution_id uuid, job_id uuid, tenant text, handler text, lane smallint, tag bigint, attempt int,
  fence bigint, scheduled_for bigint, due_at bigint, deadline_at bigint, payload text, policy jsonb, progress text,
  labels jsonb, traceparent text)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_slots int := cardinality(p_workers);
  v_used int := 0;
  v_empty boolean[] := array[false, false, false, false];
  v_lane smallint;
  v_limit int;
  v_ids uuid[];
  v_places tid[];
  v_taken int;
  v_leased int;
  v_reached bigint;
  v_expired uuid[];
  v_guarded uuid[];
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
    select array_agg(q.execution_id), array_agg(q.place), count(*), max(q.tag) into v_ids, v_places, v_taken, v_reached
    from (
      select r.execution_id, r.tag, r.ctid place from carillon.ready r
      where r.pool = p_pool and r.lane = v_lane and r.tag >= p_from[v_lane + 1]
      order by r.tag, r.execution_id limit v_limit for update skip locked) q;
    v_empty[v_lane + 1] := v_taken < v_limit;
    continue when v_taken = 0;
    p_from[v_lane + 1] := v_reached;   -- the second time, what the first took is not walked over
    delete from carillon.ready r where r.ctid = any (v_places);

    return query
    with leased as materialized (
      select s.worker_id, e.execution_id, e.job_id, e.tenant, e.handler, e.lane, e.tag, e.attempt + 1 attempt,
        nextval('carillon.fences') fence, e.scheduled_for, e.due_at, e.deadline_at,
        coalesce(e.payload, j.payload, v.payload) payload, coalesce(e.policy, j.policy, v.policy) policy,
        e.progress, e.labels, e.traceparent, s.prefetched
      from unnest(v_ids, p_workers[v_used + 1 : v_used + v_taken], p_prefetched[v_used + 1 : v_used + v_taken])
        s(execution_id, worker_id, prefetched)
      join carillon.executions e on e.execution_id = s.execution_id
      left join carillon.jobs j on j.job_id = case when e.job_version is not null then e.job_id end
        and j.version = e.job_version
      left join carillon.job_versions v on v.job_id = case when j.job_id is null then e.job_id end
        and v.version = e.job_version
      where e.state is null and (e.expires_at is null or e.expires_at > v_now or e.attempt + e.releases > 0)
    ), in_running as (
      insert into carillon.running (execution_id, fence, worker_id, attempt, leased_at, overdue_at, grace_sec,
        heartbeat_timeout_sec, heartbeat_at, began)
      select l.execution_id, l.fence, l.worker_id, l.attempt, v_now,
        v_now + (coalesce((l.policy ->> 'timeoutSec')::float8, p_timeout_sec)
               + coalesce((l.policy ->> 'cancelGraceSec')::float8, p_grace_sec)) * interval '1 second',
        coalesce((l.policy ->> 'cancelGraceSec')::int, p_grace_sec), (l.policy ->> 'heartbeatTimeoutSec')::int, v_now,
        not l.prefetched and coalesce(l.policy ->> 'delivery', '') <> 'AT_MOST_ONCE'
      from leased l)
    select l.worker_id, l.execution_id, l.job_id, l.tenant, l.handler, l.lane, l.tag, l.attempt, l.fence,
      carillon.ms(l.scheduled_for), carillon.ms(l.due_at), carillon.ms(l.deadline_at), l.payload, l.policy, l.progress,
      l.labels, l.traceparent
    from leased l;
    get diagnostics v_leased = row_count;
    v_used := v_used + v_taken;

    if v_leased < v_taken then
      with held as (
        select e.execution_id from unnest(v_ids) i(execution_id)
        join carillon.executions e on e.execution_id = i.execution_id
        where e.state is null and e.expires_at <= v_now
          and not exists (select from carillon.running r where r.execution_id = e.execution_id)
        order by e.execution_id for update of e skip locked
      ), expired as (
        update carillon.executions e set state = 'SKIPPED', reason = 'EXPIRED', finished_at = v_now
        from held where e.execution_id = held.execution_id
        returning e.execution_id, e.job_id, e.tenant, e.guarded
      ), in_endings as (
        insert into carillon.endings (execution_id, tenant, state)
        select x.execution_id, x.tenant, 'SKIPPED' from expired x)
      select coalesce(array_agg(x.execution_id), '{}'), array_agg(x.job_id) filter (where x.guarded)
      into v_expired, v_guarded from expired x;
      -- Somebody is ending these: they stay where he looks for them.
      insert into carillon.ready (pool, lane, tag, execution_id)
      select e.pool, e.lane, e.tag, e.execution_id from unnest(v_ids) i(execution_id)
      join carillon.executions e on e.execution_id = i.execution_id
      where e.state is null and e.expires_at <= v_now and e.execution_id <> all (v_expired)
        and not exists (select from carillon.running r where r.execution_id = e.execution_id);
      if v_guarded is not null then
        perform carillon.release_waiting(v_guarded, v_now);
      end if;
    end if;
  end loop;
end $$;
