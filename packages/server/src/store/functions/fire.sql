-- FIRE: turns due occurrences into ledger rows and ready rows and moves their schedules on, in one transaction.
--
-- Called by the leader of the shards. The epoch is checked under a FOR SHARE lock first and everything else is joined
-- to what that returned: a leader that was replaced, however long it slept, fires nothing. Version and due time are
-- compared, so nothing fires from an old definition; payload and policies are read here, not taken from memory.
--
-- p_*: one entry per schedule row to move; next null: no further occurrence. o_*: the occurrences of those schedules;
-- reason null: it fires, else it is recorded as SKIPPED (one row for `count` occurrences in a row).
-- Locks: shards (share), schedules by id (SKIP LOCKED: an edit under way goes first), then see overlap_verdict.
-- Indexes: schedules_pkey, jobs_pkey, executions_pkey.
create or replace function carillon.fire(
  p_shards smallint[], p_epochs bigint[],
  p_jobs uuid[], p_versions int[], p_dues bigint[], p_next_nominals bigint[], p_next_dues bigint[], p_fires int[],
  o_jobs uuid[], o_ids uuid[], o_nominals bigint[], o_dues bigint[], o_tags bigint[],
  o_reasons text[], o_lasts bigint[], o_counts int[],
  p_now timestamptz default null)
returns table (moved uuid[], fired int, duplicates int, collisions uuid[], too_old uuid[], queued jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_shards smallint[];
  v_floor uuid;
  v_guarded boolean;
  v_verdicts text[];
  v_wanted int;
  v_job record;
  v_all boolean;   -- spares the search of each id among all others in the ordinary case
begin
  v_shards := carillon.hold_shards(p_shards, p_epochs);
  if cardinality(v_shards) = 0 then
    return;
  end if;

  select array_agg(x.job_id), bool_or(x.overlap <> 'ALLOW') into moved, v_guarded from (
    select s.job_id, j.overlap from unnest(p_jobs, p_versions, p_dues) i(job_id, version, due)
    join carillon.schedules s on s.job_id = i.job_id
    join carillon.jobs j on j.job_id = i.job_id
    where s.version = i.version and s.due = carillon.at(i.due) and s.due <= v_now and s.shard = any (v_shards)
    order by s.job_id for update of s skip locked) x;
  if moved is null then
    return;
  end if;
  v_all := cardinality(moved) = cardinality(p_jobs);
  select floor_id into v_floor from carillon.installation;

  v_verdicts := array_fill('READY'::text, array[greatest(cardinality(o_ids), 1)]);
  if v_guarded then
    for v_job in
      select o.ordinal, o.execution_id, j.job_id, j.overlap
      from unnest(o_jobs, o_ids, o_reasons) with ordinality o(job_id, execution_id, reason, ordinal)
      join carillon.jobs j on j.job_id = o.job_id
      where (v_all or o.job_id = any (moved)) and o.reason is null and j.overlap <> 'ALLOW'
        and not exists (select from carillon.executions e where e.execution_id = o.execution_id)
      order by o.job_id, o.ordinal
    loop
      v_verdicts[v_job.ordinal] := carillon.overlap_verdict(v_job.job_id, v_job.overlap, v_job.execution_id, v_now);
    end loop;
  end if;

  with o as (
    select * from unnest(o_jobs, o_ids, o_nominals, o_dues, o_tags, o_reasons, o_lasts, o_counts, v_verdicts)
      o(job_id, execution_id, nominal, due, tag, reason, last, count, verdict)
    where (v_all or o.job_id = any (moved)) and o.execution_id >= v_floor
  ), born as (
    insert into carillon.executions (execution_id, job_id, job_version, tenant, pool, lane, handler, tag, origin, guarded,
      scheduled_for, due_at, fired_at, expires_at, deadline_at, name, payload, policy, labels,
      skipped_last, skipped_count, state, reason, finished_at)
    select o.execution_id, j.job_id, case when j.type in ('CRON', 'INTERVAL') then j.version end,
      j.tenant, j.pool, j.lane, j.handler, case o.verdict when 'READY' then o.tag else -1 end, 'SCHEDULE',
      j.overlap <> 'ALLOW', carillon.at(o.nominal), carillon.at(o.due), v_now,
      carillon.at(o.due) + j.start_within_sec * interval '1 second', v_now + j.deadline_sec * interval '1 second',
      case when j.type not in ('CRON', 'INTERVAL') then j.name end,
      case when j.type not in ('CRON', 'INTERVAL') then j.payload end,
      case when j.type not in ('CRON', 'INTERVAL') then j.policy end,
      j.labels, carillon.at(o.last), o.count,
      case when o.reason is not null or o.verdict = 'SKIP' then 'SKIPPED' end,
      coalesce(o.reason, case o.verdict when 'SKIP' then 'OVERLAP' end),
      case when o.reason is not null or o.verdict = 'SKIP' then v_now end
    from o join carillon.jobs j on j.job_id = o.job_id
    order by o.execution_id
    on conflict (execution_id) do nothing
    returning execution_id, job_id, tenant, pool, lane, tag, state, expires_at, deadline_at
  ), in_ready as (
    insert into carillon.ready (pool, lane, tag, execution_id)
    select b.pool, b.lane, b.tag, b.execution_id from born b where b.state is null and b.tag >= 0
    returning pool, lane, tag
  ), in_waiting as (
    insert into carillon.waiting (execution_id, key)
    select b.execution_id, 'job:' || b.job_id from born b where b.state is null and b.tag < 0
  ), in_endings as (
    insert into carillon.endings (execution_id, tenant, state)
    select b.execution_id, b.tenant, b.state from born b where b.state is not null
  ), in_deadlines as (
    insert into carillon.deadlines (execution_id, kind, due)
    select b.execution_id, 'START', b.expires_at from born b where b.state is null and b.expires_at is not null
    union all
    select b.execution_id, 'FINISH', b.deadline_at from born b where b.state is null and b.deadline_at is not null
  )
  select (select count(*) from o), (select count(*) from born),
    (select jsonb_agg(jsonb_build_array(r.pool, r.lane, r.tag, r.count)) from (
      select pool, lane, min(tag) tag, count(*) count from in_ready group by pool, lane) r)
  into v_wanted, fired, queued;

  duplicates := v_wanted - fired;
  if duplicates > 0 then
    select array_agg(o.execution_id) into collisions
    from unnest(o_jobs, o_ids, o_nominals) o(job_id, execution_id, nominal)
    join carillon.executions e on e.execution_id = o.execution_id
    where (v_all or o.job_id = any (moved)) and (e.job_id <> o.job_id or e.scheduled_for <> carillon.at(o.nominal));
  end if;
  select array_agg(o.execution_id) into too_old
  from unnest(o_jobs, o_ids) o(job_id, execution_id) where (v_all or o.job_id = any (moved)) and o.execution_id < v_floor;

  update carillon.schedules s
  set nominal = carillon.at(i.nominal), due = carillon.at(i.due), fires = s.fires + i.fires
  from unnest(p_jobs, p_next_nominals, p_next_dues, p_fires) i(job_id, nominal, due, fires)
  where s.job_id = i.job_id and (v_all or i.job_id = any (moved));

  -- Jobs without a further occurrence: a one-shot leaves, its definition is in the ledger now.
  if array_position(p_next_dues, null) is not null then
    with over as (
      select i.job_id from unnest(p_jobs, p_next_dues) i(job_id, due) where i.due is null and (v_all or i.job_id = any (moved))
    ), completed as (
      update carillon.jobs j set state = 'COMPLETED', updated_at = v_now from over
      where j.job_id = over.job_id and j.type in ('CRON', 'INTERVAL')
    ), gone as (
      delete from carillon.jobs j using over
      where j.job_id = over.job_id and j.type not in ('CRON', 'INTERVAL') returning j.job_id)
    delete from carillon.schedules s using gone where s.job_id = gone.job_id;
  end if;
  return next;
end $$;
