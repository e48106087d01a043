-- REPORT: takes over how attempts ended. Every entry names its fence; one that holds no lease changes nothing.
--
-- p_outcomes: SUCCEEDED, FAILED, TIMED_OUT, WORKER_LOST, CANCELLED, HANDED_BACK, COMPLETED_IN_TRANSACTION.
-- p_nexts, for what did not succeed: RETRY (back at p_retries_at) or DEAD (p_reasons says why); decided by
-- domain/retry.ts from the policy. RETRY_UNBEGUN: if its handler has begun since somebody looked, it is BUSY instead. Two
-- things on the row go before what the report says: `completed` (the handler's own transaction committed the result) makes it
-- SUCCEEDED, `cancel_at` makes whatever did not succeed CANCELLED.
-- Verdicts, in the order of the input: ACCEPTED, REFUSED (an old fence, or another outcome than the one that was taken over
-- under this fence; put on record), BUSY (the row is locked: report
-- again with the next batch). No verdicts at all: everything was accepted and has ended.
-- Locks: running by id (SKIP LOCKED), executions by id, then see release_waiting.
-- Indexes: running_pkey, executions_pkey. Plans: see docs/decisions/0025-named-once-more.md. Figures (test/integration/plans): 8
-- buffers a row (10 before PostgreSQL 17), whatever is at rest; one more while 100,000 dead rows make the index of `running` a
-- level deeper. [m] 1,000 successes: the quickest 13 to 14 ms of CPU; with `running` read twice and nested loops 17.
create or replace function carillon.report(
  p_ids uuid[], p_fences bigint[], p_outcomes text[], p_nexts text[], p_reasons text[], p_retries_at bigint[],
  p_started_at bigint[], p_results text[], p_errors jsonb[], p_progress text[], p_logs text[], p_actors text[],
  p_now timestamptz default null)
returns table (verdicts text[], ended uuid[], retry_due bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = off set enable_mergejoin = off set enable_material = off set work_mem = '64MB'
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_held uuid[];
  v_places tid[];
  v_guarded uuid[];
  -- Spares the search of each id among all others in the ordinary case: [m] 16 of 65 ms for 1,000.
  v_all boolean;
  v_low uuid;
  v_high uuid;
begin
  -- Only the partitions of this range are opened. [m] One row in 33 partitions: 0.51 ms of CPU instead of 0.81.
  select i into v_low from unnest(p_ids) i order by i limit 1;
  select i into v_high from unnest(p_ids) i order by i desc limit 1;

  -- The rows of `running` are locked by id, and so are those of the ledger, as everybody else does: both come sorted, and
  -- the hash fits into memory. A locked row is read as it is now, not as it was when the statement began.
  with held as materialized (
    select r.execution_id, r.fence, r.worker_id, r.attempt, r.leased_at, coalesce(i.progress, r.progress) progress,
      i.retry_at, carillon.at(i.started_at) started_at, i.error, i.log, i.actor,
      case when r.completed then r.result else i.result end result,
      case when r.completed or i.outcome = 'SUCCEEDED' then 'SUCCEEDED'
           when i.outcome = 'COMPLETED_IN_TRANSACTION' then 'FAILED'
           -- What never began uses no attempt.
           when i.outcome = 'CANCELLED' and i.started_at is null and not r.began then 'HANDED_BACK' else i.outcome end outcome,
      case when r.completed or i.outcome = 'SUCCEEDED' then 'SUCCEEDED'
           when r.cancel_reason = 'DEADLINE' then 'DEAD'
           when r.cancel_at is not null or i.outcome = 'CANCELLED' then 'CANCELLED'
           when i.next = 'DEAD' then 'DEAD' end state,
      case when r.completed or i.outcome = 'SUCCEEDED' then null
           when r.cancel_at is not null then r.cancel_reason
           else i.reason end reason, r.cancel_by, r.place,
      -- Its own transaction completed it, and the report says something else: a handler that threw after that, a lost worker.
      case when r.completed and i.outcome not in ('SUCCEEDED', 'COMPLETED_IN_TRANSACTION') then i.outcome end said
    from (select * from unnest(p_ids, p_fences, p_outcomes, p_nexts, p_reasons, p_retries_at, p_started_at, p_results, p_errors,
                                p_progress, p_logs, p_actors)
             u(execution_id, fence, outcome, next, reason, retry_at, started_at, result, error, progress, log, actor)
           order by u.execution_id) i
    -- By itself: whatever the statistics say of `running`, each entry is looked up. See docs/decisions/0024-queues-look-empty.md.
    cross join lateral (
      select x.*, x.ctid place from carillon.running x
      where x.execution_id = i.execution_id and x.fence = i.fence and (i.next is distinct from 'RETRY_UNBEGUN' or not x.began)
      offset 0 for update skip locked) r
  ), written as (
    update carillon.executions e
    set state = g.state, reason = g.reason, finished_at = case when g.state is not null then v_now end,
        attempt = case when g.outcome = 'HANDED_BACK' then e.attempt else g.attempt end,
        releases = e.releases + case when g.outcome = 'HANDED_BACK' then 1 else 0 end,
        started_at = least(coalesce(g.started_at, g.leased_at), v_now), worker_id = g.worker_id, fence = g.fence,
        progress = coalesce(g.progress, e.progress), result = g.result,
        error = case when g.state = 'SUCCEEDED' then null else g.error end,
        log = case when g.log is null then e.log else right(coalesce(e.log, '') || g.log, 262144) end,
        history = case when g.said is not null then
            carillon.with_entry(e.history, jsonb_build_object('at', carillon.ms(v_now), 'to', 'SUCCEEDED', 'actor', g.actor,
              'reason', 'COMPLETED_IN_TRANSACTION', 'said', g.said, 'saidUnder', g.fence))
          when g.state = 'SUCCEEDED' then e.history else
          carillon.with_entry(e.history, jsonb_strip_nulls(jsonb_build_object(
            'at', carillon.ms(v_now), 'to', coalesce(g.outcome, g.state), 'actor', g.actor, 'reason', g.reason,
            'attempt', g.attempt, 'fence', g.fence, 'workerId', g.worker_id,
            'startedAt', carillon.ms(coalesce(g.started_at, g.leased_at)), 'error', g.error))) end
    -- Named once more: however the planner takes the sides, and whatever it thinks of a partition, no other row is read.
    from held g where e.execution_id = g.execution_id and e.execution_id = any (p_ids) and e.execution_id between v_low and v_high
    returning e.execution_id, e.job_id, e.tenant, e.pool, e.lane, e.state, e.guarded, e.expires_at, e.deadline_at,
      g.outcome, g.retry_at, e.handler, e.due_at, e.started_at, e.reason, e.error, e.worker_id, g.attempt, g.cancel_by
  ), in_endings as (
    insert into carillon.endings (execution_id, tenant, state)
    select w.execution_id, w.tenant, w.state from written w where w.state <> 'SUCCEEDED'
  ), in_retries as (
    insert into carillon.retries (execution_id, shard, due, tenant, pool, lane, state)
    select w.execution_id, carillon.shard_of(w.job_id, n.shard_count), carillon.at(w.retry_at), w.tenant, w.pool, w.lane,
      case w.outcome when 'HANDED_BACK' then 'PENDING' else w.outcome end
    from written w cross join carillon.installation n where w.state is null
    returning due
  ), in_events as (
    insert into carillon.events (at, tenant, type, job_id, execution_id, detail)
    select v_now, w.tenant, t.type, w.job_id, w.execution_id, carillon.attempt_detail(w.handler, w.attempt, w.worker_id,
      w.due_at, w.started_at, v_now, w.outcome, w.reason, w.error, case when t.type = 'execution.retrying' then w.retry_at end,
      case when w.state <> 'SUCCEEDED' then w.cancel_by end)
    from written w join carillon.event_listeners l on l.tenant = w.tenant and l.until > v_now
    cross join lateral unnest(carillon.attempt_events(w.outcome, w.state)) t(type)
    where exists (select from carillon.event_listeners h where h.until > v_now))
  select array_agg(w.execution_id) filter (where w.state is not null),
    array_agg(distinct w.job_id) filter (where w.state is not null and w.guarded),
    (select carillon.ms(min(due)) from in_retries),
    coalesce((select array_agg(h.execution_id) from held h), '{}'), (select array_agg(h.place) from held h)
  into ended, v_guarded, retry_due, v_held, v_places from written w;
  v_all := cardinality(v_held) = cardinality(p_ids);
  -- In a statement of its own, to which what was locked is visible as it is now.
  delete from carillon.running r where r.ctid = any (v_places);

  -- Only now, in a statement of its own: what began to wait while we waited for the ledger row is visible.
  if v_guarded is not null then
    retry_due := least(retry_due, carillon.ms(carillon.release_waiting(v_guarded, v_now)));
  end if;

  if v_all and cardinality(ended) = cardinality(p_ids) then
    ended := null;
  elsif v_all then
    verdicts := array_fill('ACCEPTED'::text, array[cardinality(p_ids)]);
  else
    select array_agg(
      case when i.execution_id = any (v_held) then 'ACCEPTED'
           when exists (select from carillon.running r where r.execution_id = i.execution_id and r.fence = i.fence offset 0) then 'BUSY'
           -- The same report once more, after its answer was lost.
           when e.fence = i.fence and (e.state = i.outcome or e.state = 'SUCCEEDED' and i.outcome = 'COMPLETED_IN_TRANSACTION')
             or e.history @> jsonb_build_array(jsonb_build_object('saidUnder', i.fence, 'said', i.outcome))
             or e.history @> jsonb_build_array(jsonb_build_object('fence', i.fence,
               'to', case i.outcome when 'COMPLETED_IN_TRANSACTION' then 'FAILED' else i.outcome end)) then 'ACCEPTED'
           else 'REFUSED' end
      order by i.ordinal)
    into verdicts
    from unnest(p_ids, p_fences, p_outcomes) with ordinality i(execution_id, fence, outcome, ordinal)
    left join lateral (select * from carillon.executions x where x.execution_id = i.execution_id offset 0) e on true;

    perform carillon.note_refusals('execution.report_refused', array_agg(e.tenant), array_agg(coalesce(i.actor, 'worker')),
      array_agg(i.execution_id::text), array_agg(
        jsonb_build_object('fence', i.fence, 'outcome', i.outcome, 'currentFence', coalesce(r.fence, e.fence))
          || case when e.fence = i.fence and e.state is not null then jsonb_build_object('ended', e.state) else '{}' end), v_now)
    from unnest(p_ids, p_fences, p_outcomes, p_actors, verdicts) i(execution_id, fence, outcome, actor, verdict)
    left join lateral (select * from carillon.executions x where x.execution_id = i.execution_id offset 0) e on true
    left join lateral (select * from carillon.running x where x.execution_id = i.execution_id offset 0) r on true
    where i.verdict = 'REFUSED';
  end if;
  return next;
end $$;
