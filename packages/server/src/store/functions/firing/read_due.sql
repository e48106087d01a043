-- The reads of the due source in PostgreSQL: rows of these shards that are due in a window, earliest first. They read and lock
-- nothing; they are functions so that their plans are pinned. With the statistics of an hour in which nothing was to be
-- retried, the planner read all of `retries` and sorted it: of 4,000 retries the first one took 4,020 buffers on
-- PostgreSQL 18, and on 15 1,390 behind dead rows. Now it takes 3, and 7.
-- Indexes: schedules_due, retries_due, submissions_due, of which one run of leaves is read, and jobs_by_id. The shard is
-- checked inside the index from PostgreSQL 17 on; before, a row of a shard that another node leads is fetched to be
-- passed over. p_only: nothing but these, to find which one makes a call fail.
-- Figures: test/integration/plans. 1,000 schedules: 3.0 to 3.1 buffers each, at 1,000,000 jobs as at 10,000.

-- The job comes as JSON of what a fire is planned from; what only the worker needs stays where it is. Text JSON of named
-- columns: [m] as plain statements 1,000 rows took 12 to 13 ms of CPU so, 26 to 27 with `to_jsonb` of the whole row.
create or replace function carillon.read_due_schedules(
  p_shards smallint[], p_from bigint, p_until bigint, p_limit int, p_only uuid[] default null)
returns table (job_id uuid, shard smallint, version int, nominal bigint, due bigint, fires bigint, job json)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select s.job_id, s.shard, s.version, carillon.ms(s.nominal), carillon.ms(s.due), s.fires, row_to_json(d)
  from carillon.schedules s
  join carillon.jobs j on j.job_id = s.job_id and j.version = s.version
  cross join lateral (
    select j.job_id, j.tenant, j.name, j.type, j.run_at, j.delay_ms, j.cron, j."interval", j.timezone, j.dst_gap,
      j.dst_overlap, j.day_fields, j.anchor, j.start_at, j.end_at, j.max_fires, j.jitter_sec, j.misfire, j.misfire_after_sec,
      j.max_catch_up, j.grace_sec, j.start_within_sec, j.deadline_sec, j.overlap, j.pool, j.lane, j.handler, j.key,
      j.managed_by) d
  where s.due >= carillon.at(p_from) and s.due <= carillon.at(p_until) and s.shard = any (p_shards)
    and (p_only is null or s.job_id = any (p_only))
  order by s.due limit p_limit;
end $$;

create or replace function carillon.read_due_retries(
  p_shards smallint[], p_from bigint, p_until bigint, p_limit int, p_only uuid[] default null)
returns table (execution_id uuid, shard smallint, due bigint, tenant text, pool text, lane smallint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select t.execution_id, t.shard, carillon.ms(t.due), t.tenant, t.pool, t.lane from carillon.retries t
  where t.due >= carillon.at(p_from) and t.due <= carillon.at(p_until) and t.shard = any (p_shards)
    and (p_only is null or t.execution_id = any (p_only))
  order by t.due limit p_limit;
end $$;

-- With what only figures and receipts need: the handler, and whether it is an execution of a job that follows another one.
create or replace function carillon.read_due_enqueued(
  p_shards smallint[], p_from bigint, p_until bigint, p_limit int, p_only uuid[] default null)
returns table (execution_id uuid, shard smallint, due bigint, tenant text, pool text, lane smallint, handler text, follows boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select u.execution_id, u.shard, carillon.ms(u.run_at), u.tenant, u.pool, u.lane, u.handler, u.job_id is not null from carillon.submissions u
  where u.run_at >= carillon.at(p_from) and u.run_at <= carillon.at(p_until) and u.shard = any (p_shards)
    and (p_only is null or u.execution_id = any (p_only))
  order by u.run_at limit p_limit;
end $$;

-- For nodes of the version before.
create or replace function carillon.read_due_submissions(
  p_shards smallint[], p_from bigint, p_until bigint, p_limit int, p_only uuid[] default null)
returns table (execution_id uuid, shard smallint, due bigint, tenant text, pool text, lane smallint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select u.execution_id, u.shard, carillon.ms(u.run_at), u.tenant, u.pool, u.lane from carillon.submissions u
  where u.run_at >= carillon.at(p_from) and u.run_at <= carillon.at(p_until) and u.shard = any (p_shards)
    and (p_only is null or u.execution_id = any (p_only))
  order by u.run_at limit p_limit;
end $$;

-- The schedules of these jobs as they are now, one row for each id asked for: without a due time if nothing is to come, or
-- the job is gone. Its shard is answered either way. Indexes: schedules_pkey, jobs_by_id.
create or replace function carillon.read_schedules(p_jobs uuid[])
returns table (job_id uuid, shard smallint, version int, nominal bigint, due bigint, fires bigint, job json)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
begin
  return query
  select i.id, carillon.shard_of(i.id, n.shard_count), f.version, f.nominal, f.due, f.fires, f.job
  from unnest(p_jobs) i(id)
  cross join carillon.installation n
  left join lateral (
    select s.version, carillon.ms(s.nominal) nominal, carillon.ms(s.due) due, s.fires, row_to_json(d) job
    from carillon.schedules s
    join carillon.jobs j on j.job_id = s.job_id and j.version = s.version
    cross join lateral (
      select j.job_id, j.tenant, j.name, j.type, j.run_at, j.delay_ms, j.cron, j."interval", j.timezone, j.dst_gap,
        j.dst_overlap, j.day_fields, j.anchor, j.start_at, j.end_at, j.max_fires, j.jitter_sec, j.misfire, j.misfire_after_sec,
        j.max_catch_up, j.grace_sec, j.start_within_sec, j.deadline_sec, j.overlap, j.pool, j.lane, j.handler, j.key,
        j.managed_by) d
    where s.job_id = i.id and s.due is not null) f on true;
end $$;
