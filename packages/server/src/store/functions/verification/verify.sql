-- The reads of the comparison of the ledger with the schedules. They are functions so that their plans are pinned: with the
-- statistics of a partition that was just made, each job's rows would be searched for in all of it. No locks.

-- Jobs with what they were over time, from p_from_id on by id. At most p_limit are walked over; `definitions` is null for
-- those that cannot have had an occurrence in the range: what is to fire once, and lies ahead, for instance. All of it is of
-- one moment: a stable function sees what its caller's statement sees.
-- `standing`: false if the job lives and has no place in `schedules`, or follows another one and is not among the followers, so that it
-- can never fire.
-- `spans`: those that ended in the range or later, and the one before. `definitions`: of those versions and the present one.
-- Indexes: jobs_pkey, jobs_tenant; the primary keys of schedules, job_spans and job_versions.
create or replace function carillon.verify_jobs(
  p_tenant text, p_job uuid, p_from_id uuid, p_limit int, p_from bigint, p_to bigint)
returns table (job_id uuid, state text, tenant text, version int, created_at bigint, updated_at bigint, nominal bigint,
  spans json, definitions json, standing boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_from timestamptz := carillon.at(p_from);
  v_to timestamptz := carillon.at(p_to);
  v_walked uuid[];
begin
  if p_job is not null then
    v_walked := array(select j.job_id from carillon.jobs j
                      where j.job_id = p_job and j.job_id >= p_from_id and (p_tenant is null or j.tenant = p_tenant));
  elsif p_tenant is not null then
    v_walked := array(select j.job_id from carillon.jobs j where j.tenant = p_tenant and j.job_id >= p_from_id
                      order by j.job_id limit p_limit);
  else
    v_walked := array(select j.job_id from carillon.jobs j where j.job_id >= p_from_id order by j.job_id limit p_limit);
  end if;
  return query
  select w.job_id, j.state, j.tenant, j.version, carillon.ms(j.created_at), carillon.ms(j.updated_at), carillon.ms(s.nominal),
    p.spans, case when s.job_id is not null then (select json_agg(row_to_json(d)) from (
      select j.version, j.job_id, j.tenant, j.run_at, j.cron, j."interval", j.timezone, j.dst_gap, j.dst_overlap, j.day_fields,
        j.anchor, j.start_at, j.end_at, j.max_fires, j.jitter_sec, j.misfire, j.misfire_after_sec, j.max_catch_up, j.grace_sec,
        j.start_within_sec, j.overlap
      union all
      select v.version, v.job_id, v.tenant, v.run_at, v.cron, v."interval", v.timezone, v.dst_gap, v.dst_overlap, v.day_fields,
        v.anchor, v.start_at, v.end_at, v.max_fires, v.jitter_sec, v.misfire, v.misfire_after_sec, v.max_catch_up, v.grace_sec,
        v.start_within_sec, v.overlap
      from carillon.job_versions v where v.job_id = w.job_id and v.version >= p.oldest) d) end,
    j.state not in ('ACTIVE', 'PAUSED') or s.nominal is not null
      or exists (select from carillon.schedules x where x.job_id = w.job_id and (x.nominal is not null or j.type = 'AFTER' and exists (
        select from carillon.followers f where f.job_id = w.job_id and f.followed = j.after_job)))
  from unnest(v_walked) w(job_id)
  cross join lateral (select * from carillon.jobs j where j.job_id = w.job_id limit 1) j
  left join carillon.schedules s on s.job_id = w.job_id and j.created_at < v_to
    and ((j.type in ('CRON', 'INTERVAL') or j.version > 1)
        and not (j.state in ('COMPLETED', 'DELETED') and j.updated_at < v_from)
      or s.due < v_to)
  left join lateral (
    select min(p.version) oldest, json_agg(json_build_object('version', p.version, 'state', p.state,
      'since', carillon.ms(p.since), 'until', carillon.ms(p.until), 'computedAt', carillon.ms(p.computed_at),
      'stood', carillon.ms(p.stood), 'stands', carillon.ms(p.stands)) order by p.span_id) spans
    from carillon.job_spans p where p.job_id = s.job_id and p.span_id >= coalesce((
      select q.span_id from carillon.job_spans q where q.job_id = s.job_id and q.until < v_from
      order by q.span_id desc limit 1), 0)) p on true
  order by w.job_id;
end $$;

-- The rows of jobs from one id on and before another, job by job in the order given, each by id; at most p_limit in all, so the
-- last ones may be missing. Triggers are left out. Indexes: executions_job; executions_pkey for what has the job's own id.
create or replace function carillon.verify_ledger(p_jobs uuid[], p_lows uuid[], p_highs uuid[], p_limit int)
returns table (job_id uuid, id uuid, nominal bigint, origin text, state text, reason text, "last" bigint, "count" int,
  version int, due_at bigint, fired_at bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
begin
  return query
  select i.job_id, e.execution_id, carillon.ms(e.scheduled_for), e.origin, e.state, e.reason, carillon.ms(e.skipped_last),
    e.skipped_count, e.job_version, carillon.ms(e.due_at), carillon.ms(e.fired_at)
  from unnest(p_jobs, p_lows, p_highs) with ordinality i(job_id, low, high, number)
  cross join lateral (
    (select e.execution_id, e.scheduled_for, e.origin, e.state, e.reason, e.skipped_last, e.skipped_count,
       e.job_version, e.due_at, e.fired_at
     from carillon.executions e
     where e.job_id = i.job_id and e.job_id <> e.execution_id and e.execution_id >= i.low and e.execution_id < i.high
       and e.origin in ('SCHEDULE', 'BACKFILL')
     order by e.execution_id limit p_limit)
    union all
    select e.execution_id, e.scheduled_for, e.origin, e.state, e.reason, e.skipped_last, e.skipped_count,
       e.job_version, e.due_at, e.fired_at
    from carillon.executions e
    where e.execution_id = i.job_id and e.execution_id >= i.low and e.execution_id < i.high and e.origin = 'SCHEDULE') e
  order by i.number, e.execution_id limit p_limit;
end $$;

-- Of each job the last SKIPPED row before an id that stands for several occurrences. Index: executions_skipped.
create or replace function carillon.verify_reaches(p_jobs uuid[], p_lows uuid[])
returns table (job_id uuid, id uuid, nominal bigint, "last" bigint, reason text, version int, fired_at bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
begin
  return query
  select i.job_id, e.execution_id, carillon.ms(e.scheduled_for), carillon.ms(e.skipped_last), e.reason, e.job_version,
    carillon.ms(e.fired_at) from unnest(p_jobs, p_lows) i(job_id, low)
  cross join lateral (
    select e.* from carillon.executions e
    where e.job_id = i.job_id and e.execution_id < i.low and e.skipped_last is not null and e.state = 'SKIPPED'
    order by e.execution_id desc limit 1) e;
end $$;
