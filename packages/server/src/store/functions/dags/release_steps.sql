-- RELEASE: counts down what waits for executions that have just ended, in the transaction that ends them: the steps that depend on them,
-- and their runs. What waits for nothing more then is taken up by the leader of the run's shard. Returns those shards; null: none.
--
-- A dependency counts as skipped if a condition, its own or of one before it, decided against it; as failed in every other way to end
-- without success. A run counts the failures that no step allows; what was skipped because of another failure is not one of its own. A run
-- with slots gets back those of steps that had become ready: they have tags.
-- Locks: blocked by id, all in one statement. The caller holds the ledger rows of those that ended, so each is counted once.
-- Indexes: executions_pkey, dag_steps_pkey, blocked_pkey.
create or replace function carillon.release_steps(p_ids uuid[], p_now timestamptz) returns smallint[]
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_ids uuid[];
  v_done int[];
  v_failed int[];
  v_skipped int[];
  v_freed int[];
  v_released smallint[];
  v_range record := carillon.range_of(p_ids);
begin
  select array_agg(t.id), array_agg(t.done), array_agg(t.failed), array_agg(t.skipped), array_agg(t.freed)
  into v_ids, v_done, v_failed, v_skipped, v_freed
  from (
    select w.id, count(*)::int done, count(*) filter (where w.failed)::int failed, count(*) filter (where w.skipped)::int skipped,
      count(*) filter (where w.freed)::int freed
    from (
      select c.id, k.skipped, c.id = e.job_id and e.tag >= 0 freed, case when c.id = e.job_id
        then k.failed and e.reason is distinct from 'DEPENDENCY_FAILED'
          and (not s.allow_failure or e.reason in ('RUN_CANCELLED', 'RUN_DEADLINE') is true)
        else k.failed end failed
      from unnest(p_ids) i(id)
      cross join lateral (
        select * from carillon.executions x where x.execution_id = i.id and x.execution_id between v_range.low and v_range.high offset 0) e
      cross join lateral (
        select * from carillon.dag_steps x where x.execution_id = i.id and x.execution_id between v_range.low and v_range.high offset 0) s
      cross join lateral (
        select e.state = 'SKIPPED' and e.reason in ('CONDITION_FALSE', 'DEPENDENCY_SKIPPED') is true skipped) q
      cross join lateral (select q.skipped, e.state <> 'SUCCEEDED' and not q.skipped failed) k
      cross join lateral unnest(s.children || e.job_id) c(id)) w
    group by w.id order by w.id) t;
  perform from unnest(v_ids) i(id) join carillon.blocked b on b.execution_id = i.id order by b.execution_id for update of b;
  with counted as (
    update carillon.blocked b
    set remaining = b.remaining - t.done, failed = b.failed + t.failed, skipped = b.skipped + t.skipped,
      active = case when b.slots is null then b.active else b.active - t.freed end
    from unnest(v_ids, v_done, v_failed, v_skipped, v_freed) t(id, done, failed, skipped, freed)
    where b.execution_id = t.id
    returning b.shard, b.released, b.has_room)
  select array_agg(distinct c.shard) filter (where c.released or c.has_room) into v_released from counted c;
  return v_released;
end $$;

-- Locks what waits, and everything that the ends of p_ending will count down, so that release_steps finds nothing it has to wait for.
-- Locks: blocked by id, all in one statement. The caller holds the ledger rows.
create or replace function carillon.hold_blocked(p_ids uuid[], p_ending uuid[]) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_range record;
begin
  if p_ending = '{}' then
    perform from unnest(p_ids) i(id) join carillon.blocked b on b.execution_id = i.id order by b.execution_id for update of b;
    return;
  end if;
  v_range := carillon.range_of(p_ending);
  perform from (
    select i.id from unnest(p_ids) i(id)
    union select c.id from unnest(p_ending) i(id)
    cross join lateral (
      select * from carillon.dag_steps x where x.execution_id = i.id and x.execution_id between v_range.low and v_range.high offset 0) s
    cross join lateral unnest(s.children) c(id)
    union select e.job_id from unnest(p_ending) i(id)
    cross join lateral (
      select * from carillon.executions x where x.execution_id = i.id and x.execution_id between v_range.low and v_range.high offset 0) e
    where e.origin = 'DAG') i
  join carillon.blocked b on b.execution_id = i.id order by b.execution_id for update of b;
end $$;
