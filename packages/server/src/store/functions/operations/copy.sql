-- COPY: executions are submitted again into another pool, as executions of their own. The originals are only read.

-- Which of these can be copied, with their lanes, in the order given. Left out: what is gone, what never ran (SKIPPED), and what
-- a node runs by itself (built-in targets: it would call the real world, whatever the pool).
-- Locks: none. Index: executions_pkey.
create or replace function carillon.read_copyable(p_ids uuid[]) returns table (execution_id uuid, lane smallint)
language sql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
  select e.execution_id, e.lane from unnest(p_ids) with ordinality i(execution_id, number)
  cross join lateral (select * from carillon.executions x where x.execution_id = i.execution_id offset 0) e
  where e.state is distinct from 'SKIPPED' and not starts_with(e.handler, 'carillon.')
  order by i.number
$$;

-- One step of a COPY. p_sources, p_copies, p_tags: the originals, the ids of their copies and their places in the queue; p_passed:
-- how many were left alone before. p_at: the time in the ids, at which the operation was asked for.
-- A copy has what the original ran with, the definition of that version of its job included. Its deadline counts from now; a start
-- window, which a pool that is served later would miss, is not taken over. The label `copiedFrom` is left out if 16 are taken.
-- An id that the ledger has already is left out: it was copied before. Below the floor nothing is written. Both count as skipped.
-- Answers which were created and the hints; nothing if another node has taken up the operation.
-- Locks: operations, its own rows by id. Indexes: executions_pkey, jobs_by_id, job_versions_pkey.
create or replace function carillon.operate_copy(
  p_id uuid, p_fence bigint, p_sources uuid[], p_copies uuid[], p_tags bigint[], p_passed bigint, p_pool text, p_at bigint,
  p_position text, p_over boolean, p_delay_ms float8, p_actor text, p_now timestamptz default null)
returns table (created uuid[], queued jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_floor uuid;
  v_births carillon.birth[];
begin
  if not carillon.hold_operation(p_id, p_fence) then
    return;
  end if;
  select n.floor_id into v_floor from carillon.installation n;
  select array_agg(b::carillon.birth) into v_births from (
    select i.copy id, i.copy job_id, null::int job_version, e.tenant, coalesce(e.name, j.name, v.name) "name", p_pool pool, e.lane,
      e.handler, i.tag, false guarded, carillon.at(p_at) scheduled_for, v_now due_at, null::timestamptz expires_at, t.deadline_at,
      d.payload, d.policy, d.labels, null::text traceparent, null::text state, null::text reason, null::timestamptz skipped_last,
      null::int skipped_count, null::jsonb history, null::text "key", d.policy rules, carillon.birth_text(i.copy, i.copy, e.tenant,
        p_pool, e.handler, p_at, carillon.ms(v_now), t.deadline_at, d.policy, d.payload, d.labels, null) body
    from unnest(p_sources, p_copies, p_tags) i(source, copy, tag)
    cross join lateral (select * from carillon.executions x where x.execution_id = i.source offset 0) e
    left join lateral (
      select * from carillon.jobs y
      where y.job_id = case when e.job_version is not null then e.job_id end and y.version = e.job_version offset 0) j on true
    left join lateral (
      select * from carillon.job_versions y
      where y.job_id = case when j.job_id is null then e.job_id end and y.version = e.job_version offset 0) v on true
    cross join lateral (
      select coalesce(e.payload, j.payload, v.payload) payload,
        nullif(coalesce(e.policy, j.policy, v.policy) - '{startWithinSec,pauseAfterFailures}'::text[], '{}') policy,
        case when e.labels ? 'copiedFrom' or (select count(*) < 16 from jsonb_object_keys(e.labels))
          then coalesce(e.labels, '{}') || jsonb_build_object('copiedFrom', e.execution_id) else e.labels end labels) d
    cross join lateral (select v_now + (d.policy ->> 'deadlineSec')::numeric::int * interval '1 second' deadline_at) t
    where i.copy >= v_floor and (e.job_version is null or j.job_id is not null or v.job_id is not null)
    order by i.copy) b;
  created := coalesce(carillon.create_executions(v_now, 'SUBMIT', v_births, p_actor => p_actor), '{}');
  queued := carillon.hints_of(array(select b from unnest(v_births) b where b.id = any (created)));
  perform carillon.move_operation(p_id, p_position, cardinality(created),
    p_passed + coalesce(cardinality(p_sources), 0) - cardinality(created), '{}', p_over, p_delay_ms, v_now);
  return next;
end $$;
