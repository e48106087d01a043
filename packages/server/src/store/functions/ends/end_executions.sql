-- END: the one place where executions end: the ledger row is written, ends other than SUCCEEDED are put on record, listeners are told, and
-- what waited for them is released, and what follows them is enqueued. One array for each column, null: none has it.
--
-- p_states null: all have SUCCEEDED. p_fences: under which each was held; one that has ended, or has come back under this fence or a
-- later one, is left alone. Null: no lease held them, and the caller has locked them. p_entries: what their histories say of it.
-- Answers which have ended. `due`: the earliest time at which something comes back because of it. `released`: the shards of runs of which
-- something waits for nothing more.
-- Locks: executions by id if they come sorted, then see release_steps, release_waiting and follow_ends. Index: executions_pkey.
create or replace function carillon.end_executions(
  p_now timestamptz, p_ids uuid[], p_states text[] default null, p_fences bigint[] default null, p_workers uuid[] default null,
  p_started_at timestamptz[] default null, p_results text[] default null, p_reasons text[] default null, p_errors jsonb[] default null,
  p_progress text[] default null, p_logs text[] default null, p_entries jsonb[] default null, p_releases int[] default null,
  p_outcomes text[] default null, p_actors text[] default null,
  out ended uuid[], out due timestamptz, out released smallint[])
language plpgsql volatile
as $$
declare
  v_guarded uuid[];
  v_steps uuid[];
  -- Only the partitions of this range are opened.
  v_low uuid := p_ids[1];
  v_high uuid := p_ids[1];
begin
  if coalesce(cardinality(p_ids), 0) = 0 then
    ended := '{}';
    return;
  elsif cardinality(p_ids) > 1 then
    select i into v_low from unnest(p_ids) i order by i limit 1;
    select i into v_high from unnest(p_ids) i order by i desc limit 1;
  end if;
  with written as (
    update carillon.executions e
    set state = coalesce(i.state, 'SUCCEEDED'), reason = i.reason, finished_at = p_now,
      attempt = case when i.fence is null or i.released = 1 then e.attempt else e.attempt + 1 end,
      releases = e.releases + coalesce(i.released, 0), started_at = coalesce(i.started_at, e.started_at),
      worker_id = coalesce(i.worker_id, e.worker_id), fence = coalesce(i.fence, e.fence),
      progress = coalesce(i.progress, e.progress), result = i.result, error = i.error,
      history = case when i.entry is null then e.history else carillon.with_entry(e.history, i.entry) end
    from (
      select * from unnest(p_ids, p_states, p_fences, p_workers, p_started_at, p_results, p_reasons, p_errors, p_progress,
        p_entries, p_releases)
        u(id, state, fence, worker_id, started_at, result, reason, error, progress, entry, released) order by u.id) i
    -- Named once more: however the planner takes the sides, and whatever it thinks of a partition, no other row is read.
    where e.execution_id = i.id and e.execution_id = any (p_ids) and e.execution_id between v_low and v_high
      and e.state is null and (i.fence is null or e.fence is null or e.fence < i.fence)
    returning e.execution_id, case when e.guarded then e.job_id end guarded, e.origin = 'DAG' step)
  select coalesce(array_agg(w.execution_id), '{}'), array_agg(distinct w.guarded) filter (where w.guarded is not null),
    array_agg(w.execution_id) filter (where w.step)
  into ended, v_guarded, v_steps from written w;
  if array_remove(p_logs, null) <> '{}' then
    perform carillon.append_lines(p_now, array_agg(i.id), array_agg(i.fence), array_agg(e.attempt + coalesce(i.released, 0)), array_agg(i.log))
    from unnest(p_ids, p_fences, p_logs, p_releases) i(id, fence, log, released)
    join carillon.executions e on e.execution_id = i.id and e.execution_id = any (p_ids) and e.execution_id between v_low and v_high
    where i.log is not null and (cardinality(ended) = cardinality(p_ids) or i.id = any (ended))
    having count(*) > 0;
  end if;
  if p_states is not null then
    perform carillon.record_ends(array_agg(e.execution_id), array_agg(e.tenant), array_agg(e.state))
    from unnest(p_ids, p_states) i(id, state) join carillon.executions e on e.execution_id = i.id
    where i.state <> 'SUCCEEDED' and i.id = any (ended) having count(*) > 0;
  end if;
  if carillon.has_listeners(p_now) then
    if p_fences is null then
      perform carillon.tell_executions(ended, null, p_actors[1], p_now);
    else
      perform carillon.tell_attempts(ended, p_ids, p_outcomes, null, p_actors, p_now);
    end if;
  end if;
  if v_steps is not null then
    released := carillon.release_steps(v_steps, p_now);
  end if;
  -- Hardly ever is anything in the table.
  if exists (select from carillon.limits) and exists (select from carillon.limit_holds) then
    perform carillon.free_slots(ended);
  end if;
  -- Only now, in a statement of its own: what began to wait while we waited for the ledger row is visible.
  if v_guarded is not null then
    due := carillon.release_waiting(v_guarded, p_now);
  end if;
  -- Hardly ever is anything in the table.
  if exists (select from carillon.followers) and ended <> '{}' then
    due := least(due, carillon.follow_ends(ended, p_now));
  end if;
end $$;

-- RETURN: attempts that ended and leave their executions to come back at a time, or at once. The counterpart of end_executions; the
-- caller has locked the ledger rows. p_states: what they show meanwhile. p_releases: 1 for those that used no attempt.
-- Locks: retries.
create or replace function carillon.return_executions(
  p_now timestamptz, p_ids uuid[], p_fences bigint[], p_workers uuid[], p_started_at timestamptz[], p_results text[], p_errors jsonb[],
  p_progress text[], p_logs text[], p_entries jsonb[], p_releases int[], p_outcomes text[], p_reasons text[], p_dues bigint[],
  p_actors text[])
returns uuid[]
language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_back uuid[];
begin
  with written as (
    update carillon.executions e
    set attempt = e.attempt + 1 - i.released, releases = e.releases + i.released, reason = i.reason, started_at = i.started_at,
      worker_id = i.worker_id, fence = i.fence, progress = coalesce(i.progress, e.progress), result = i.result, error = i.error,
      history = carillon.with_entry(e.history, i.entry)
    from unnest(p_ids, p_fences, p_workers, p_started_at, p_results, p_errors, p_progress, p_entries, p_releases, p_outcomes,
      p_reasons, p_dues) i(id, fence, worker_id, started_at, result, error, progress, entry, released, outcome, reason, due)
    where e.execution_id = i.id and e.state is null and (e.fence is null or e.fence < i.fence)
    returning e.execution_id, e.job_id, e.tenant, e.pool, e.lane, i.outcome, i.due
  ), in_retries as (
    insert into carillon.retries (execution_id, shard, due, tenant, pool, lane, state)
    select w.execution_id, carillon.shard_of(w.job_id, n.shard_count), carillon.at(w.due), w.tenant, w.pool, w.lane,
      case w.outcome when 'HANDED_BACK' then 'PENDING' else w.outcome end
    from written w cross join carillon.installation n)
  select coalesce(array_agg(w.execution_id), '{}') into v_back from written w;
  if exists (select from carillon.limits) and exists (select from carillon.limit_holds) then
    perform carillon.free_slots(v_back);
  end if;
  if array_remove(p_logs, null) <> '{}' then
    perform carillon.append_lines(p_now, array_agg(i.id), array_agg(i.fence), array_agg(e.attempt + coalesce(i.released, 0)), array_agg(i.log))
    from unnest(p_ids, p_fences, p_logs, p_releases) i(id, fence, log, released)
    join carillon.executions e on e.execution_id = i.id
    where i.log is not null and (cardinality(v_back) = cardinality(p_ids) or i.id = any (v_back))
    having count(*) > 0;
  end if;
  if carillon.has_listeners(p_now) then
    perform carillon.tell_attempts(v_back, p_ids, p_outcomes, p_dues, p_actors, p_now);
  end if;
  return v_back;
end $$;
