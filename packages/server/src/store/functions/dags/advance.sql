-- What waits for nothing more in these shards: steps to be made ready or skipped, and runs that have ended. Of a run with slots, as many
-- steps as slots are free. A run has no number, but what its end means to the execution that started it.
-- Locks: none. Indexes: blocked_released, blocked_slots, blocked_queued, dag_runs_pkey, dag_steps_pkey, executions_pkey.
create or replace function carillon.read_released(p_shards smallint[], p_limit int)
returns table (execution_id uuid, run_id uuid, shard smallint, failed int, skipped int, number int, tenant text, pool text, lane smallint,
  started_by uuid, started_fence bigint, max_failures int, cancel_reason text, fan_out boolean)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_found record;
  v_range record;
begin
  select array_agg(b.execution_id) ids, array_agg(b.run_id) runs, array_agg(b.shard) shards, array_agg(b.failed) failed,
    array_agg(b.skipped) skipped
  into v_found
  from (
    select * from (
      select * from unnest(p_shards) h(shard) cross join lateral (
        select x.execution_id, x.run_id, x.failed, x.skipped from carillon.blocked x
        where x.shard = h.shard and x.released and not x.held and not x.queued limit p_limit) y
      union all
      select h.shard, y.* from unnest(p_shards) h(shard)
      cross join lateral (
        select x.execution_id run_id, x.slots - x.active free from carillon.blocked x
        where x.shard = h.shard and x.has_room limit p_limit) r
      cross join lateral (
        select x.execution_id, x.run_id, x.failed, x.skipped from carillon.blocked x
        where x.run_id = r.run_id and x.queued and x.released and not x.held order by x.execution_id limit r.free) y) z
    limit p_limit) b;
  if v_found.ids is null then
    return;
  end if;
  v_range := carillon.range_of(v_found.ids);
  return query
  select b.execution_id, b.run_id, b.shard, b.failed, b.skipped, s.number, e.tenant, e.pool, e.lane, r.started_by, r.started_fence,
    r.max_failures, r.cancel_reason, r.fan_out
  from unnest(v_found.ids, v_found.runs, v_found.shards, v_found.failed, v_found.skipped) b(execution_id, run_id, shard, failed, skipped)
  left join lateral (
    select * from carillon.dag_steps x where x.execution_id = case when b.run_id <> b.execution_id then b.execution_id end
      and x.execution_id between v_range.low and v_range.high offset 0) s on true
  left join lateral (
    select * from carillon.executions x where x.execution_id = s.execution_id
      and x.execution_id between v_range.low and v_range.high offset 0) e on true
  left join lateral (
    select * from carillon.dag_runs x where x.execution_id = case when b.run_id = b.execution_id then b.run_id end
      and x.execution_id between v_range.low and v_range.high offset 0) r on true;
end $$;

-- ADVANCE: what became of those that waited for nothing more. p_verdicts: READY; WAIT: for a signal; SKIPPED, with
-- a reason; END: it is a run. A run that was
-- cancelled meanwhile has its steps cancelled instead; of one that is paused they are held back, and nobody looks at them until it is resumed.
-- p_tags, p_inputs: of steps that are to be ready; p_inputs as executions.inputs has them. p_errors: of conditions that could not be answered.
-- p_fences: of runs that an execution has started, the fence under which it was told; if it waits under another by now, the run goes on.
-- Answers which became ready (moved, with the hints in queued), how many steps ended otherwise, by state, and which runs ended. released: in which
-- shards something else waits for nothing more because of that.
-- Locks: shards (share), dag_runs by id, executions by id, blocked by id, then see end_executions.
create or replace function carillon.advance(
  p_shards smallint[], p_epochs bigint[], p_ids uuid[], p_runs uuid[], p_verdicts text[], p_reasons text[], p_tags bigint[],
  p_inputs text[], p_errors jsonb[], p_fences bigint[], p_now timestamptz default null)
returns table (moved uuid[], queued jsonb, skipped uuid[], cancelled uuid[], ended uuid[], released smallint[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_shards smallint[];
  v_other record;
  v_limited uuid[];   -- runs with slots
  v_range record := carillon.range_of(p_ids);
  v_runs uuid[];
  v_cancelled uuid[];   -- of these
begin
  v_shards := carillon.hold_shards(p_shards, p_epochs);
  if cardinality(v_shards) = 0 then
    return;
  end if;
  -- Not through LATERAL: in partitions of a range, PostgreSQL 18 then leaves out all rows after one that has changed while it waited.
  select array_agg(r.execution_id), coalesce(array_agg(r.execution_id) filter (where r.cancel_at is not null), '{}') into v_runs, v_cancelled
  from (
    select x.execution_id, x.cancel_at from carillon.dag_runs x
    where x.execution_id = any (p_runs) and x.execution_id between v_range.low and v_range.high
    order by x.execution_id for no key update) r;
  perform from carillon.executions x
  where x.execution_id = any (p_ids) and x.execution_id between v_range.low and v_range.high
  order by x.execution_id for no key update;
  v_limited := array(
    select b.execution_id from unnest(v_runs) i(id) join carillon.blocked b on b.execution_id = i.id and b.slots is not null);
  perform carillon.hold_blocked(p_ids || v_limited, array(
    select i.id from unnest(p_ids, p_runs, p_verdicts) i(id, run_id, verdict)
    where i.verdict = 'SKIPPED' or i.verdict in ('READY', 'WAIT') and i.run_id = any (v_cancelled)));

  -- In a statement of its own: what cancelled or paused a run, or ended a step, while we waited is seen.
  with decided as (
    select i.id, case when i.verdict = 'END' then 'END' when r.cancel_at is not null then 'CANCELLED' when r.paused then 'HELD'
      else i.verdict end verdict, case when i.verdict <> 'END' and r.cancel_at is not null then r.cancel_reason else i.reason end reason,
      r.cancel_by, case when r.cancel_at is null then i.error end error
    from unnest(p_ids, p_runs, p_verdicts, p_reasons, p_errors, p_fences) i(id, run_id, verdict, reason, error, fence)
    join carillon.blocked b on b.execution_id = i.id and b.released and not b.held and b.shard = any (v_shards)
    cross join lateral (
      select * from carillon.dag_runs x
      where x.execution_id = i.run_id and x.execution_id between v_range.low and v_range.high offset 0) r
    where i.verdict <> 'END' or r.started_fence is not distinct from i.fence)
  select array_agg(d.id) filter (where d.verdict in ('READY', 'WAIT')) ready, array_agg(d.id) filter (where d.verdict = 'WAIT') signals, array_agg(d.id) filter (where d.verdict = 'HELD') held,
    array_agg(d.id) filter (where d.verdict = 'END') runs,
    array_agg(d.id order by d.id) filter (where d.verdict in ('SKIPPED', 'CANCELLED')) ids,
    array_agg(d.verdict order by d.id) filter (where d.verdict in ('SKIPPED', 'CANCELLED')) states,
    array_agg(d.reason order by d.id) filter (where d.verdict in ('SKIPPED', 'CANCELLED')) reasons,
    array_agg(d.error order by d.id) filter (where d.verdict in ('SKIPPED', 'CANCELLED')) errors,
    array_agg(jsonb_build_object('at', carillon.ms(v_now), 'to', d.verdict, 'actor', case d.verdict when 'CANCELLED' then d.cancel_by else 'scheduler' end,
      'reason', d.reason) order by d.id) filter (where d.verdict in ('SKIPPED', 'CANCELLED')) entries
  into v_other from decided d;

  if v_other.held is not null then
    update carillon.blocked b set held = true where b.execution_id = any (v_other.held);
  end if;
  if v_other.runs is not null then
    with over as (
      delete from carillon.blocked b where b.execution_id = any (v_other.runs) returning b.execution_id, b.failed)
    update carillon.dag_runs r
    set finished_at = v_now, failed_count = o.failed, paused = false,
      state = case when k.succeeded then 'SUCCEEDED' when r.cancel_reason = 'RUN_CANCELLED' then 'CANCELLED' else 'FAILED' end,
      reason = case when k.succeeded then null when r.cancel_reason = 'RUN_CANCELLED' then 'CANCELLED'
        when r.cancel_reason = 'RUN_DEADLINE' then 'DEADLINE' else 'STEP_FAILED' end
    from over o cross join lateral (
      select * from carillon.dag_runs y
      where y.execution_id = o.execution_id and y.execution_id between v_range.low and v_range.high offset 0) x
    cross join lateral (
      -- Told the same way by dags/run-ends.ts to the execution that has started it.
      select o.failed = 0 or x.cancel_at is null and o.failed <= x.max_failures succeeded) k
    where r.execution_id = o.execution_id and r.execution_id between v_range.low and v_range.high and r.execution_id = any (v_other.runs);
    delete from carillon.deadlines d where d.execution_id = any (v_other.runs) and d.kind = 'RUN';
    ended := v_other.runs;
    perform carillon.tell_runs(v_other.runs, null, 'scheduler', v_now);
  end if;
  if v_other.ready is not null then
    delete from carillon.blocked b where b.execution_id = any (v_other.ready);
    with again as (
      update carillon.executions e
      set tag = i.tag, inputs = i.inputs, due_at = v_now,
        expires_at = v_now + (e.policy ->> 'startWithinSec')::numeric::int * interval '1 second',
        deadline_at = v_now + (e.policy ->> 'deadlineSec')::numeric::int * interval '1 second'
      from unnest(p_ids, p_tags, p_inputs) i(id, tag, inputs)
      -- Named once more: the rows are looked up by their ids, then joined.
      where e.execution_id = i.id and e.execution_id = any (v_other.ready) and e.execution_id between v_range.low and v_range.high
        and e.state is null
      returning e.execution_id, e.expires_at, e.deadline_at
    ), timed as (
      insert into carillon.deadlines (execution_id, kind, due)
      select a.execution_id, d.kind, d.due from again a
      cross join lateral (values ('START', a.expires_at), ('FINISH', a.deadline_at)) d(kind, due) where d.due is not null
      on conflict (execution_id, kind) do update set due = excluded.due)
    select array_agg(a.execution_id) into moved from again a;
    if v_limited <> '{}' then
      update carillon.blocked b set active = b.active + m.count
      from (select i.run_id, count(*)::int count from unnest(p_ids, p_runs) i(id, run_id) where i.id = any (moved) group by i.run_id) m
      where b.execution_id = m.run_id and b.execution_id = any (v_limited);
    end if;
    if v_other.signals is null then
      queued := carillon.readmit(moved);
    else
      queued := carillon.readmit(array(select m from unnest(moved) m where m <> all (v_other.signals)));
      perform carillon.await_signals(array(select m from unnest(moved) m where m = any (v_other.signals)), v_now);
    end if;
  end if;
  if v_other.ids is not null then
    delete from carillon.blocked b where b.execution_id = any (v_other.ids);
    released := (carillon.end_executions(v_now, v_other.ids, v_other.states, p_reasons => v_other.reasons,
      p_errors => v_other.errors, p_entries => v_other.entries,
      p_actors => array['scheduler'])).released;
    select array_agg(i.id) filter (where i.state = 'SKIPPED'), array_agg(i.id) filter (where i.state = 'CANCELLED') into skipped, cancelled
    from unnest(v_other.ids, v_other.states) i(id, state);
  end if;
  return next;
end $$;

-- Steps that wait for a signal run without a worker: deferred from the beginning, each with a lease of its own. Their time is that of an attempt.
-- Locks: its own rows. The caller holds the ledger rows and has given them tags.
create or replace function carillon.await_signals(p_ids uuid[], p_now timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  with waiting as (
    select e.execution_id, e.pool, e.lane, e.tag, nextval('carillon.lease_ids') lease_id,
      (e.policy ->> 'timeoutSec')::numeric * interval '1 second' timeout
    from unnest(p_ids) i(id) join carillon.executions e on e.execution_id = i.id
  ), leased as (
    insert into carillon.leases (lease_id, worker_id, pool, lane, tag_low, tag_high, leased_at, overdue_at, grace_sec, began, open, ids)
    select w.lease_id, '00000000-0000-0000-0000-000000000000', w.pool, w.lane, w.tag, w.tag, p_now, p_now + w.timeout, 0, true, 1,
      array[w.execution_id]
    from waiting w)
  update carillon.executions e
  set history = carillon.with_entry(e.history, jsonb_build_object('at', carillon.ms(p_now), 'to', 'DEFERRED', 'actor', 'scheduler',
    'fence', w.lease_id << 10, 'startedAt', carillon.ms(p_now)))
  from waiting w where e.execution_id = w.execution_id;
  if carillon.has_listeners(p_now) then
    perform carillon.tell_leased(p_ids, array_fill('00000000-0000-0000-0000-000000000000'::uuid, array[cardinality(p_ids)]), p_now);
  end if;
end $$;

-- SIGNAL: ends a step that waits for one, with its result, and says in the audit who did. Answers DONE; BUSY: another transaction is ending
-- it; null: it does not wait (any more).
-- Locks: as REPORT.
create or replace function carillon.signal_step(p_run uuid, p_id uuid, p_step text, p_result text, p_actor text, p_now timestamptz default null)
returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_fence bigint;
  v_tenant text;
  v_verdicts text[];
  v_ended uuid[];
begin
  select h.fence, e.tenant into v_fence, v_tenant from carillon.executions e cross join lateral carillon.held(e) h
  where e.execution_id = p_id and e.handler = 'carillon.signal' and h.worker_id = '00000000-0000-0000-0000-000000000000'
    and h.cancel_at is null and h.overdue_at > v_now;
  if v_fence is null then
    return null;
  end if;
  select r.verdicts, r.ended into v_verdicts, v_ended from carillon.report(array[p_id], array[v_fence], null, null, null, null,
    array[null::bigint], array[p_result], null, null, null, array[p_actor], v_now) r;
  if v_ended is not null and v_ended <> array[p_id] then
    return case when v_verdicts[1] = 'BUSY' then 'BUSY' end;
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  values (v_now, v_tenant, p_actor, 'dag_run.signalled', p_run::text, jsonb_build_object('step', p_step, 'executionId', p_id));
  return 'DONE';
end $$;
