-- A tenant's active jobs, p_limit of them after an id, by when they fire and what they run. Jobs with jitter fire at times of their own.
-- The last row is no group: it says where the page ended. Times in milliseconds.
-- Locks: none. Indexes: jobs_tenant, schedules_pkey.
create or replace function carillon.group_schedules(p_tenant text, p_after uuid, p_limit int)
returns table (
  last uuid, cron text, "interval" text, timezone text, dst_gap text, dst_overlap text, day_fields text, anchor bigint, start_at bigint,
  end_at bigint, "left" bigint, jittered uuid, jitter_sec int, nominal bigint, pool text, handler text, count bigint, job_ids uuid[],
  names text[])
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
begin
  return query
  with page as materialized (
    select j.job_id, j.name, j.state, j.cron, j."interval", j.timezone, j.dst_gap, j.dst_overlap, j.day_fields, j.anchor, j.start_at,
      j.end_at, j.max_fires, j.jitter_sec, j.pool, j.handler
    from carillon.jobs j where (j.tenant, j.job_id) > (p_tenant, p_after) and j.tenant = p_tenant
    order by j.tenant, j.job_id limit p_limit)
  select null::uuid, g.* from (
    select p.cron, p."interval", p.timezone, p.dst_gap, p.dst_overlap, p.day_fields, carillon.ms(p.anchor), carillon.ms(p.start_at),
      carillon.ms(p.end_at), p.max_fires - s.fires, case when p.jitter_sec > 0 then p.job_id end, p.jitter_sec,
      carillon.ms(s.nominal), carillon.pool_name(p.pool), p.handler, count(*), (array_agg(p.job_id))[1:10], (array_agg(p.name))[1:10]
    from page p join carillon.schedules s on s.job_id = p.job_id
    where p.state = 'ACTIVE' and s.due is not null
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) g
  union all
  select (select max(p.job_id::text)::uuid from page p having count(*) = p_limit), null, null, null, null, null, null, null, null, null, null,
    null, null, null, null, null, 0, null, null;
end $$;
