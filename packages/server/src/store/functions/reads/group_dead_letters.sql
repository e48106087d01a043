-- A tenant's dead letters, by the error they ended with and by why they ended: the p_look newest of a range of ids. Null: any.
-- What they are grouped by stands in `endings`, which is then read once, straight into the groups; the ledger once for each group. For a
-- filter by origin or labels, and if a dead letter is from before that, the ledger is read for each of them. p_by_job: by job instead, and
-- submissions by handler.
-- `looked`: how many were looked at, matching or not. Groups: the p_groups largest of `groups`. The last row is no group: it says
-- `looked` though nothing matches.
-- Locks: none. Indexes: endings_state, executions_pkey.
-- [m] 100,000 dead letters of a tenant among a million executions: see docs/decisions/0055-answers.md.
create or replace function carillon.group_dead_letters(
  p_tenant text, p_after uuid, p_before uuid, p_look bigint, p_groups int, p_by_job boolean, p_job uuid, p_handler text, p_pool text,
  p_origin text, p_error text, p_reason text, p_labels jsonb)
returns table (
  looked bigint, groups bigint, job_id uuid, handler text, error text, reason text, count bigint, attempts bigint, jobs bigint,
  handlers text[], first_at bigint, last_at bigint, newest uuid, last_error jsonb, name text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off set work_mem = '32MB'
as $$
#variable_conflict use_column
begin
  if p_origin is null and p_labels is null then
    return query
    with fine as materialized (
      -- By whether they fit; null: only the ledger can say.
      select w.fits, w.job_id, w.handler, w.error, w.reason, count(*) count, sum(w.attempts) attempts, min(w.ended_at) first_at,
        max(w.ended_at) last_at, max(w.execution_id::text collate "C") newest
      from (
        select case when n.reason is not null then (p_job is null or coalesce(n.job_id, n.execution_id) = p_job)
            and (p_handler is null or n.handler = p_handler) and (p_pool is null or n.pool = p_pool)
            and (p_error is null or n.error = p_error) and (p_reason is null or n.reason = p_reason) end fits,
          n.job_id, n.handler, case when not p_by_job then n.error end error, case when not p_by_job then n.reason end reason,
          n.attempts, n.ended_at, n.execution_id
        from carillon.endings n
        where (n.tenant, n.state, n.execution_id) > (p_tenant, 'DEAD', p_after)
          and (n.tenant, n.state, n.execution_id) < (p_tenant, 'DEAD', p_before)
          and n.execution_id > p_after and n.execution_id < p_before
        order by n.tenant desc, n.state desc, n.execution_id desc limit p_look) w
      group by 1, 2, 3, 4, 5
    ), parts as (
      -- By handler; and, with nothing but their number, jobs. Counting distinct ones would sort what is hashed here.
      select case when p_by_job then f.job_id end job_id, f.error, f.reason, f.handler,
        case when p_by_job and f.job_id is null then f.handler end submitted, sum(f.count) count, sum(f.attempts) attempts,
        min(f.first_at) first_at, max(f.last_at) last_at, max(f.newest) newest, 0 jobs
      from fine f where f.fits group by 1, 2, 3, 4, 5
      union all
      select null, j.error, j.reason, null, null, 0, 0, null, null, null, count(*)
      from (select f.error, f.reason, f.job_id from fine f where f.fits and not p_by_job group by 1, 2, 3) j
      group by j.error, j.reason
    ), coarse as (
      select p.job_id, p.error, p.reason, sum(p.count) count, sum(p.attempts) attempts, greatest(sum(p.jobs), 1)::bigint jobs,
        array_agg(p.handler) handlers, min(p.first_at) first_at, max(p.last_at) last_at, max(p.newest)::uuid newest
      from parts p group by p.job_id, p.error, p.reason, p.submitted
    ), largest as (
      select c.*, count(*) over () groups from coarse c order by c.count desc, c.attempts desc, c.newest limit p_groups
    ), walked as (
      select coalesce(sum(f.count), 0)::bigint looked from fine f having count(*) filter (where f.fits is null) = 0)
    select w.looked, l.groups, l.job_id, e.handler, l.error, l.reason, l.count::bigint, l.attempts::bigint, l.jobs,
      array(select h from unnest(l.handlers) h where h is not null order by h collate "C" limit 10),
      carillon.ms(l.first_at), carillon.ms(l.last_at), l.newest, e.error, e.name
    from walked w cross join largest l left join carillon.executions e on e.execution_id = l.newest
    union all select w.looked, 0, null, null, null, null, 0, 0, 0, null, null, null, null, null, null from walked w;
    if found then
      return;
    end if;
  end if;
  return query
  with walked as materialized (
    select n.* from carillon.endings n
    where (n.tenant, n.state, n.execution_id) > (p_tenant, 'DEAD', p_after)
      and (n.tenant, n.state, n.execution_id) < (p_tenant, 'DEAD', p_before)
      and n.execution_id > p_after and n.execution_id < p_before
    order by n.tenant desc, n.state desc, n.execution_id desc limit p_look
  ), described as (
    select w.execution_id, w.job_id, w.handler, w.pool, w.reason, w.error, w.attempts, w.ended_at
    from walked w where w.reason is not null and p_origin is null and p_labels is null
    union all
    select e.execution_id, nullif(e.job_id, e.execution_id), e.handler, carillon.pool_name(e.pool), coalesce(e.reason, ''),
      carillon.error_name(e.error), e.attempt, e.finished_at
    from walked w join carillon.executions e on e.execution_id = w.execution_id
    where (w.reason is null or p_origin is not null or p_labels is not null) and (p_origin is null or e.origin = p_origin)
      and (p_labels is null or e.labels @> p_labels)
  ), known as (
    select d.execution_id::text collate "C" id, d.job_id, d.handler, d.reason, d.error, d.attempts, d.ended_at from described d
    where (p_job is null or coalesce(d.job_id, d.execution_id) = p_job) and (p_handler is null or d.handler = p_handler)
      and (p_pool is null or d.pool = p_pool) and (p_error is null or d.error = p_error) and (p_reason is null or d.reason = p_reason)
  ), fine as (
    select k.job_id, k.handler, case when not p_by_job then k.error end error, case when not p_by_job then k.reason end reason,
      count(*) count, sum(k.attempts) attempts, min(k.ended_at) first_at, max(k.ended_at) last_at, max(k.id) id
    from known k group by 1, 2, 3, 4
  ), coarse as (
    select case when p_by_job then f.job_id end job_id, case when p_by_job and f.job_id is null then f.handler end handler, f.error,
      f.reason, sum(f.count) count, sum(f.attempts) attempts, count(distinct coalesce(f.job_id::text, '')) jobs,
      (array_agg(distinct f.handler collate "C"))[1:10] handlers, min(f.first_at) first_at, max(f.last_at) last_at,
      max(f.id)::uuid newest
    from fine f group by 1, 2, 3, 4
  ), largest as (
    select c.*, count(*) over () groups from coarse c order by c.count desc, c.attempts desc, c.newest limit p_groups)
  select (select count(*) from walked), l.groups, l.job_id, e.handler, l.error, l.reason, l.count::bigint, l.attempts::bigint, l.jobs,
    l.handlers, carillon.ms(l.first_at), carillon.ms(l.last_at), l.newest, e.error, e.name
  from largest l left join carillon.executions e on e.execution_id = l.newest
  union all select (select count(*) from walked), 0, null, null, null, null, 0, 0, 0, null, null, null, null, null, null;
end $$;
