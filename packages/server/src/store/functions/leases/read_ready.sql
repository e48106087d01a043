-- What the relay of a queue reads: rows of one lane of a pool, smallest tags first, with what a message says about each. Reads and
-- locks nothing; a function, so that its plan is pinned. Indexes: ready_pkey, and the ledger's primary key.
create or replace function carillon.read_ready(p_pool text, p_lane smallint, p_from bigint, p_limit int)
returns table (tag bigint, execution_id uuid, job_id uuid, tenant text, scheduled_for bigint, traceparent text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select r.tag, r.execution_id, e.job_id, e.tenant, carillon.ms(e.scheduled_for), e.traceparent
  from (select q.tag, q.execution_id from carillon.ready q
    where q.pool = p_pool and q.lane = p_lane and q.tag >= p_from order by q.tag, q.execution_id limit p_limit) r
  cross join lateral (
    select x.job_id, x.tenant, x.scheduled_for, x.traceparent from carillon.executions x
    where x.execution_id = r.execution_id offset 0) e;
end $$;

-- Of these rows of a pool's queue, those that are still there. Index: ready_pkey.
create or replace function carillon.still_ready(p_pool text, p_lanes smallint[], p_tags bigint[], p_ids uuid[])
returns uuid[]
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set enable_sort = off
as $$
begin
  return array(
    select r.execution_id from unnest(p_lanes, p_tags, p_ids) k(lane, tag, id) cross join lateral (
      select q.execution_id from carillon.ready q
      where q.pool = p_pool and q.lane = k.lane and q.tag = k.tag and q.execution_id = k.id offset 0) r);
end $$;
