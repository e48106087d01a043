-- The part of it that comes from policies.
create or replace function carillon.lease_rules(
  p_policy jsonb, p_timeout_sec int, p_grace_sec int, p_attempts int) returns text
  language sql immutable parallel safe
  return format(
    '"maxAttempts":%s,"timeoutSec":%s,"heartbeatTimeoutSec":%s,"cancelGraceSec":%s,"announceStart":%s,"target":%s',
    coalesce((p_policy #> '{retryPolicy,maxAttempts}')::text, p_attempts::text),
    coalesce((p_policy -> 'timeoutSec')::text, p_timeout_sec::text), coalesce((p_policy -> 'heartbeatTimeoutSec')::text, 'null'),
    coalesce((p_policy -> 'cancelGraceSec')::text, p_grace_sec::text),
    case p_policy ->> 'delivery' when 'AT_MOST_ONCE' then 'true' else 'false' end, coalesce((p_policy -> 'target')::text, 'null'));

-- LEASE: gives ready executions of one pool to waiting workers, smallest tags first.
--
-- p_from: per lane, the tag to read from (rows below were taken and are perhaps not vacuumed yet). p_since: per lane,
-- leases since a lower lane had one; of p_turn leases at least one is reserved for the lower lanes, which give it back
-- if they have no work. p_workers/p_prefetched: one entry per free slot; the n-th row taken goes to the n-th slot. A
-- prefetched one has not begun until the worker says so. p_only: nothing but these, to find which one makes a call fail.
-- Returns, for each worker and lane, how many it got, how far the lane was read, and the executions as the JSON that goes to
-- the worker, in the order of its slots: the node passes on what it does not have to read.
-- Locks: ready (SKIP LOCKED), of what has expired executions (SKIP LOCKED): LEASE never waits. The row moves to `running`
-- with the next fence. Nothing else competes for it: CANCEL deletes it from `ready` first or finds it in `running`.
-- Indexes: ready_pkey, executions_pkey (the partition is picked per row), jobs_by_id, job_versions_pkey; a key that is
-- null costs no look into its index, so a definition is searched only where it can be. Plans: see
-- docs/decisions/0025-named-once-more.md.
-- Figures (test/integration/plans): 11 buffers a row (12 before PostgreSQL 17) and 12 besides, whatever is at rest. With a look
-- into job_versions for each row, the jobs by their primary key and the first rows walked over twice 18. [m] 1,000 rows: the
-- quickest 13 to 14 ms of CPU; with nested loops 15 to 16.
create or replace function carillon.lease(
  p_pool text, p_from bigint[], p_since int[], p_turn int, p_workers uuid[], p_prefetched boolean[],
  p_timeout_sec int, p_grace_sec int, p_attempts int, p_now timestamptz, p_only uuid[] default null)
returns table (worker_id uuid, lane smallint, leased int, reached bigint, executions text)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = off set enable_mergejoin = off set enable_material = off set enable_sort = off
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
  v_low uuid;
  v_high uuid;
  v_places tid[];
  v_taken int;
  v_leased int;
  v_given uuid[];
  v_counts int[];
  v_texts text[];
  v_pool text := to_json(carillon.pool_name(p_pool));
  v_rules text := carillon.lease_rules('{}', p_timeout_sec, p_grace_sec, p_attempts);
  v_overdue timestamptz := v_now + (p_timeout_sec + p_grace_sec) * interval '1 second';
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
        and (p_only is null or r.execution_id = any (p_only))
      order by r.tag, r.execution_id limit v_limit for update skip locked) q;
    v_empty[v_lane + 1] := v_taken < v_limit;
    continue when v_taken = 0;
    -- Only the partitions between these are opened. [m] LEASE of one row in 33 partitions: 0.58 ms of CPU instead of 0.83.
    select i into v_low from unnest(v_ids) i order by i limit 1;
    select i into v_high from unnest(v_ids) i order by i desc limit 1;
    p_from[v_lane + 1] := v_reached;   -- the second time, what the first took is not walked over
    delete from carillon.ready r where r.ctid = any (v_places);

    with leased as materialized (
      select s.worker_id, e.execution_id, e.job_id, e.tenant, e.handler, e.attempt + 1 attempt,
        nextval('carillon.fences') fence, e.scheduled_for, e.due_at, e.deadline_at,
        coalesce(e.payload, j.payload, v.payload) payload, coalesce(e.policy, j.policy, v.policy) policy,
        e.progress, e.labels, e.traceparent, s.prefetched
      from unnest(v_ids, p_workers[v_used + 1 : v_used + v_taken], p_prefetched[v_used + 1 : v_used + v_taken])
        with ordinality s(execution_id, worker_id, prefetched, slot)
      -- Named once more: however the planner takes the sides, and whatever it thinks of a partition, no other row is read.
      join carillon.executions e on e.execution_id = s.execution_id and e.execution_id = any (v_ids)
        and e.execution_id between v_low and v_high
      left join lateral (
        select * from carillon.jobs y
        where y.job_id = case when e.job_version is not null then e.job_id end and y.version = e.job_version offset 0) j on true
      left join lateral (
        select * from carillon.job_versions y
        where y.job_id = case when j.job_id is null then e.job_id end and y.version = e.job_version offset 0) v on true
      where e.state is null and (e.expires_at is null or e.expires_at > v_now or e.attempt + e.releases > 0)
      order by s.slot
    ), in_running as (
      insert into carillon.running (execution_id, fence, worker_id, attempt, leased_at, overdue_at, grace_sec,
        heartbeat_timeout_sec, heartbeat_at, began)
      select l.execution_id, l.fence, l.worker_id, l.attempt, v_now,
        case when l.policy is null then v_overdue
             else v_now + (coalesce((l.policy ->> 'timeoutSec')::float8, p_timeout_sec)
                         + coalesce((l.policy ->> 'cancelGraceSec')::float8, p_grace_sec)) * interval '1 second' end,
        coalesce((l.policy ->> 'cancelGraceSec')::numeric::int, p_grace_sec),
        (l.policy ->> 'heartbeatTimeoutSec')::numeric::int, v_now,
        not l.prefetched and (l.policy is null or coalesce(l.policy ->> 'delivery', '') <> 'AT_MOST_ONCE')
      from leased l
    ), in_events as (
      insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
      select v_now, l.tenant, 'execution.started', l.job_id, l.execution_id, jsonb_build_object('handler', l.handler,
        'attempt', l.attempt, 'workerId', l.worker_id, 'dueAt', carillon.ms(l.due_at))
      from leased l join carillon.event_listeners n on n.tenant = l.tenant and n.until > v_now
      where exists (select from carillon.event_listeners h where h.until > v_now))
    select array_agg(w.worker_id), array_agg(w.leased), array_agg(w.text), coalesce(sum(w.leased), 0)
    into v_given, v_counts, v_texts, v_leased from (
      -- A hash is filled in the order of the slots, and so is the text of each worker.
      select l.worker_id, count(*)::int leased, string_agg(format(
        '{"executionId":"%s","jobId":"%s","tenant":%s,"pool":%s,"handler":%s,"attempt":%s,"fence":%s,"scheduledFor":%s,"dueAt":%s,'
        '"deadlineAt":%s,%s,"payload":%s,"lastProgress":%s,"labels":%s,"traceparent":%s}',
        l.execution_id, l.job_id, to_json(l.tenant), v_pool, to_json(l.handler), l.attempt, l.fence,
        carillon.ms(l.scheduled_for), carillon.ms(l.due_at), coalesce(carillon.ms(l.deadline_at)::text, 'null'),
        case when l.policy is null then v_rules else carillon.lease_rules(l.policy, p_timeout_sec, p_grace_sec, p_attempts) end,
        coalesce(l.payload, 'null'), coalesce(l.progress, 'null'), coalesce(l.labels::text, '{}'),
        coalesce(to_json(l.traceparent)::text, 'null')), ',') text
      from leased l group by l.worker_id) w;
    v_used := v_used + v_taken;
    return query select g.worker_id, v_lane, g.leased, v_reached, g.text
      from unnest(v_given, v_counts, v_texts) g(worker_id, leased, text);

    if v_leased < v_taken then
      with held as (
        select e.execution_id from carillon.executions e
        where e.execution_id = any (v_ids) and e.state is null and e.expires_at <= v_now
          and not exists (select from carillon.running r where r.execution_id = e.execution_id offset 0)
        order by e.execution_id for update of e skip locked
      ), expired as (
        update carillon.executions e set state = 'SKIPPED', reason = 'EXPIRED', finished_at = v_now
        from held where e.execution_id = held.execution_id and e.execution_id = any (v_ids)
        returning e.execution_id, e.job_id, e.tenant, e.guarded
      ), in_endings as (
        insert into carillon.endings (execution_id, tenant, state)
        select x.execution_id, x.tenant, 'SKIPPED' from expired x)
      select coalesce(array_agg(x.execution_id), '{}'), array_agg(x.job_id) filter (where x.guarded)
      into v_expired, v_guarded from expired x;
      perform carillon.tell_executions(v_expired, null, null, v_now);
      -- Without a ledger row there is nothing to run. Which tag each had is not known any more; the last one read stands for it.
      insert into carillon.quarantine (source, key, execution_id, call, code, message, at, content)
      select 'ready', k.key, i, 'LEASE', 'NO_LEDGER_ROW', 'the ledger has no such execution', v_now, k.key
      from unnest(v_ids) i cross join lateral (
        select jsonb_build_object('pool', p_pool, 'lane', v_lane, 'tag', v_reached, 'execution_id', i) key) k
      where not exists (select from carillon.executions e where e.execution_id = i);
      -- Somebody is ending these: they stay where he looks for them.
      insert into carillon.ready (pool, lane, tag, execution_id)
      select e.pool, e.lane, e.tag, e.execution_id from carillon.executions e
      where e.execution_id = any (v_ids) and e.state is null and e.expires_at <= v_now and e.execution_id <> all (v_expired)
        and not exists (select from carillon.running r where r.execution_id = e.execution_id offset 0);
      if v_guarded is not null then
        perform carillon.release_waiting(v_guarded, v_now);
      end if;
    end if;
  end loop;
end $$;
