-- How many executions are ready, running, waiting and to be retried, by pool and lane, and since when the first of them is: for metrics.
-- Bounded: p_most of each lane that is ready, of all leases and of all retries, a tenth of that of what waits, whose pool is in the
-- ledger; p_lanes lanes. `since` of retries is when the first is due. Of what is ready it is the one to be leased next, which fair
-- sharing need not make the oldest.
-- Locks: none. Indexes: ready_pkey, of which the first row of each lane is looked for from the one before; retries_due, executions_pkey.
-- [m] 1,000,000 ready rows in 20 lanes: 21 to 38 ms, and 67 to 132 before their first vacuum.
create or replace function carillon.read_depths(p_most int, p_lanes int)
returns table ("where" text, pool text, lane smallint, count bigint, since bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_pool text := '';
  v_lane smallint := -1;
  v_first record;
begin
  for i in 1..p_lanes loop
    select r.pool, r.lane, r.execution_id into v_first from carillon.ready r where (r.pool, r.lane) > (v_pool, v_lane)
    order by r.pool, r.lane, r.tag, r.execution_id limit 1;
    exit when not found;
    v_pool := v_first.pool;
    v_lane := v_first.lane;
    return query
    select 'ready', v_pool, v_lane, (select count(*) from (
        select from carillon.ready r where r.pool = v_pool and r.lane = v_lane order by r.tag limit p_most) c),
      (select carillon.ms(greatest(e.due_at, e.fired_at)) from carillon.executions e where e.execution_id = v_first.execution_id);
  end loop;
  return query
  select 'running', l.pool, l.lane, sum(l.open)::bigint, carillon.ms(min(l.leased_at))
  from (select l.pool, l.lane, l.open, l.leased_at from carillon.leases l limit p_most) l group by l.pool, l.lane;
  return query
  select 'retrying', t.pool, t.lane, count(*), carillon.ms(min(t.due))
  from (select t.pool, t.lane, t.due from carillon.retries t order by t.due limit p_most) t group by t.pool, t.lane;
  return query
  select 'waiting', e.pool, e.lane, count(*), carillon.ms(min(e.fired_at))
  from (select w.execution_id from carillon.waiting w limit p_most / 10) w
  join carillon.executions e on e.execution_id = w.execution_id group by e.pool, e.lane;
end $$;
