-- Which executions match a filter, a bounded piece at a time. The state of an execution follows from the table that holds its row, so a filter
-- by state decides what is walked (p_source): the ledger of a tenant or of a job, the endings or `retries`, p_look rows from one end of a
-- range of ids, newest first but for the sources `oldest_…`; or all that is `running` or `pending`, by read_queued, if of all tenants that
-- is at most four times p_look, else the ledger instead. What else the filter asks for is compared on the way. Null: any.
-- Answers what matches, at most p_limit, and the last row that was looked at (number = p_look), which may not match. Where everything was
-- looked at, number is 0.
--
-- Rows are compared with rows and sorted by every column, and sorting is switched off, so that only the index meant will
-- do: else the primary key is walked over what belongs to others, however much that is. The ids are compared once more to
-- leave out partitions. A partition that was empty when the plan was made is not scanned either.
-- Figures: 12 buffers for a tenant that has nothing beside one with 150,000 rows; 5,000 rows looked at in vain 558, by way of
-- the endings 20,000.
-- Locks: none. Indexes: executions_tenant, executions_job, endings_state, leases_tag, retries_pkey; executions_pkey; see read_queued.
create or replace function carillon.select_executions(
  p_source text, p_tenant text, p_after uuid, p_before uuid, p_look bigint, p_limit bigint, p_states text[], p_job uuid,
  p_handler text, p_pool text, p_origin text, p_error text, p_labels jsonb, p_reason text default null)
returns table (execution_id uuid, number bigint, matches boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_ids uuid[];
  v_fences bigint[];
begin
  if p_source in ('running', 'pending') then
    select q.ids, q.fences into v_ids, v_fences
    from carillon.read_queued(p_source, p_tenant, p_after, p_before, 4 * p_look) q;
    if v_ids is not null then
      return query
      select e.execution_id, 0::bigint, true
      from unnest(v_ids, v_fences) i(id, fence)
      -- OFFSET 0: one after the other, in the order of the array.
      cross join lateral (select * from carillon.executions x where x.execution_id = i.id offset 0) e
      where e.state is null and (i.fence is null or coalesce(e.fence, -1) < i.fence)
        and carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels)
      limit p_limit;
      return;
    end if;
    p_source := case when p_job is null then 'ledger' else 'job' end;
  end if;
  if p_source = 'ledger' then
    return query
    select w.execution_id, w.number, w.fits from (
      select e.execution_id, row_number() over () number,
        carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels) and (p_states is null or coalesce(
          e.state, case when carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is not null then 'RUNNING' end,
          (select t.state from carillon.retries t where t.execution_id = e.execution_id),
          case when e.origin = 'DAG' and exists (select from carillon.blocked b where b.execution_id = e.execution_id) then 'BLOCKED' end,
          'PENDING') = any (p_states)) fits
      from (
        select x.* from carillon.executions x
        where (x.tenant, x.execution_id) > (p_tenant, p_after) and (x.tenant, x.execution_id) < (p_tenant, p_before)
          and x.execution_id > p_after and x.execution_id < p_before
        order by x.tenant desc, x.execution_id desc limit p_look) e) w
    where w.fits or w.number = p_look limit p_limit;
  elsif p_source = 'job' then
    return query
    select w.execution_id, w.number, w.fits from (
      select e.execution_id, row_number() over () number,
        carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels) and (p_states is null or coalesce(
          e.state, case when carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is not null then 'RUNNING' end,
          (select t.state from carillon.retries t where t.execution_id = e.execution_id),
          case when e.origin = 'DAG' and exists (select from carillon.blocked b where b.execution_id = e.execution_id) then 'BLOCKED' end,
          'PENDING') = any (p_states)) fits
      from (
        select * from (
          (select x.* from carillon.executions x
           where x.job_id <> x.execution_id and (x.job_id, x.execution_id) > (p_job, p_after)
             and (x.job_id, x.execution_id) < (p_job, p_before) and x.execution_id > p_after and x.execution_id < p_before
           order by x.job_id desc, x.execution_id desc limit p_look)
          union all   -- a submission is its own job, and is not in the index of jobs
          select x.* from carillon.executions x
          where x.execution_id = p_job and x.job_id = p_job and x.execution_id > p_after and x.execution_id < p_before) x
        order by x.job_id desc, x.execution_id desc limit p_look) e) w
    where w.fits or w.number = p_look limit p_limit;
  elsif p_source = 'oldest_ledger' then
    return query
    select w.execution_id, w.number, w.fits from (
      select e.execution_id, row_number() over () number,
        carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels) and (p_states is null or coalesce(
          e.state, case when carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is not null then 'RUNNING' end,
          (select t.state from carillon.retries t where t.execution_id = e.execution_id),
          case when e.origin = 'DAG' and exists (select from carillon.blocked b where b.execution_id = e.execution_id) then 'BLOCKED' end,
          'PENDING') = any (p_states)) fits
      from (
        select x.* from carillon.executions x
        where (x.tenant, x.execution_id) > (p_tenant, p_after) and (x.tenant, x.execution_id) < (p_tenant, p_before)
          and x.execution_id > p_after and x.execution_id < p_before
        order by x.tenant, x.execution_id limit p_look) e) w
    where w.fits or w.number = p_look limit p_limit;
  elsif p_source = 'oldest_job' then
    return query
    select w.execution_id, w.number, w.fits from (
      select e.execution_id, row_number() over () number,
        carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels) and (p_states is null or coalesce(
          e.state, case when carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is not null then 'RUNNING' end,
          (select t.state from carillon.retries t where t.execution_id = e.execution_id),
          case when e.origin = 'DAG' and exists (select from carillon.blocked b where b.execution_id = e.execution_id) then 'BLOCKED' end,
          'PENDING') = any (p_states)) fits
      from (
        select * from (
          (select x.* from carillon.executions x
           where x.job_id <> x.execution_id and (x.job_id, x.execution_id) > (p_job, p_after)
             and (x.job_id, x.execution_id) < (p_job, p_before) and x.execution_id > p_after and x.execution_id < p_before
           order by x.job_id, x.execution_id limit p_look)
          union all   -- a submission is its own job, and is not in the index of jobs
          select x.* from carillon.executions x
          where x.execution_id = p_job and x.job_id = p_job and x.execution_id > p_after and x.execution_id < p_before) x
        order by x.job_id, x.execution_id limit p_look) e) w
    where w.fits or w.number = p_look limit p_limit;
  elsif p_source in ('endings', 'oldest_endings') then
    return query
    select w.execution_id, w.number, w.fits from (
      select e.execution_id, n.number, carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels) fits
      from carillon.walk_endings(p_tenant, p_states, p_after, p_before, p_look, p_source = 'oldest_endings') n
      join carillon.executions e on e.execution_id = n.execution_id) w
    where w.fits or w.number = p_look limit p_limit;
  else
    return query
    select w.execution_id, w.number, w.fits from (
      select n.execution_id, n.number, coalesce(
        carillon.fits(e, p_tenant, p_job, p_handler, p_pool, p_origin, p_error, p_reason, p_labels), false) fits
      from (select r.execution_id, r.tenant = p_tenant and r.state = any (p_states) wanted, row_number() over () number from (
              select y.execution_id, y.tenant, y.state from carillon.retries y
              where y.execution_id > p_after and y.execution_id < p_before
              order by y.execution_id desc limit p_look) r) n
      -- What belongs to others costs no look into the ledger.
      left join carillon.executions e on e.execution_id = case when n.wanted then n.execution_id end) w
    where w.fits or w.number = p_look limit p_limit;
  end if;
end $$;

-- Endings of a tenant in some states, from the newest or from the oldest on. Each state is a range of the index.
create or replace function carillon.walk_endings(
  p_tenant text, p_states text[], p_after uuid, p_before uuid, p_look bigint, p_oldest boolean)
returns table (execution_id uuid, number bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  if p_oldest then
    return query
    select w.execution_id, row_number() over (order by w.execution_id) from unnest(p_states) s(state) cross join lateral (
      select d.execution_id from carillon.endings d
      where (d.tenant, d.state, d.execution_id) > (p_tenant, s.state, p_after)
        and (d.tenant, d.state, d.execution_id) < (p_tenant, s.state, p_before)
        and d.execution_id > p_after and d.execution_id < p_before
      order by d.tenant, d.state, d.execution_id limit p_look) w
    order by w.execution_id limit p_look;
  else
    return query
    select w.execution_id, row_number() over (order by w.execution_id desc) from unnest(p_states) s(state) cross join lateral (
      select d.execution_id from carillon.endings d
      where (d.tenant, d.state, d.execution_id) > (p_tenant, s.state, p_after)
        and (d.tenant, d.state, d.execution_id) < (p_tenant, s.state, p_before)
        and d.execution_id > p_after and d.execution_id < p_before
      order by d.tenant desc, d.state desc, d.execution_id desc limit p_look) w
    order by w.execution_id desc limit p_look;
  end if;
end $$;
