-- REPORT: records the outcomes of attempts. Every entry names its fence; one whose lease is gone changes nothing.
--
-- p_outcomes: SUCCEEDED, FAILED, TIMED_OUT, WORKER_LOST, CANCELLED, HANDED_BACK, COMPLETED_IN_TRANSACTION; null: all have SUCCEEDED.
-- p_nexts, for what did not succeed: RETRY (back at p_retries_at) or DEAD (p_reasons says why); decided by
-- domain/retry.ts from the policy. RETRY_UNBEGUN: if its handler has begun since the caller looked, it is BUSY instead. Two
-- things go before what the report says: that the handler's own transaction committed the result makes it SUCCEEDED, that a person
-- asked to cancel makes whatever did not succeed CANCELLED.
-- Verdicts, in the order of the input: ACCEPTED, REFUSED (an old fence, or another outcome than the one that was taken over
-- under this fence; put on record), BUSY (it is being completed in a transaction: report again with the next batch). No verdicts at
-- all: everything was accepted and has ended. `released`: see end_executions.
-- Locks: leases by id; executions by id, of what did not succeed FOR UPDATE SKIP LOCKED; then see end_executions.
-- Indexes: leases_pkey, executions_pkey.
create or replace function carillon.report(
  p_ids uuid[], p_fences bigint[], p_outcomes text[], p_nexts text[], p_reasons text[], p_retries_at bigint[],
  p_started_at bigint[], p_results text[], p_errors jsonb[], p_progress text[], p_logs text[], p_actors text[],
  p_now timestamptz default null)
returns table (verdicts text[], ended uuid[], retry_due bigint, released smallint[])
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_nestloop = off set enable_mergejoin = off set enable_material = off set work_mem = '64MB'
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_leases record;
  v_done record;
  v_back record;
  v_due timestamptz;
  v_returned uuid[] := '{}';
  v_completed boolean;   -- a handler completed one of them in a transaction of its own: that result holds
  v_all boolean;   -- spares the search of each id among all others in the ordinary case
begin
  -- Hardly ever is anything in the table: then nothing is looked up.
  v_completed := exists (select from carillon.completions) and exists (
    select from carillon.completions c where c.execution_id = any (p_ids));
  with held as materialized (
    select l.lease_id, l.worker_id, l.leased_at, l.began, l.open, l.noted, l.ids, l.ctid place from carillon.leases l
    where l.lease_id = any (array(select distinct f >> 10 from unnest(p_fences) f)) order by l.lease_id for update)
  select array_agg(h.lease_id) lease_ids, array_agg(h.worker_id) workers, array_agg(h.leased_at) times, array_agg(h.began) began,
    array_agg(h.open) open, array_agg(h.place) places, array_agg(h.before) offsets, bool_or(h.noted) noted,
    (select array_agg(u.id) from held g cross join unnest(g.ids) u(id)) ids
  into v_leases
  from (select g.*, (sum(cardinality(g.ids)) over (order by g.lease_id rows unbounded preceding))::int - cardinality(g.ids) before
        from held g) h;

  if v_leases.lease_ids is not null and p_outcomes is null and not v_leases.noted and not v_completed then
    select array_agg(i.id) ids, array_agg(i.fence) fences, array_agg(v_leases.workers[l.number]) workers,
      array_agg(least(coalesce(carillon.at(i.started_at), v_leases.times[l.number]), v_now)) started_at,
      array_agg(i.result) results, array_agg(i.progress) progress, array_agg(i.log) logs, null::text[] actors
    into v_done
    from unnest(p_ids, p_fences, p_started_at, p_results, p_progress, p_logs) i(id, fence, started_at, result, progress, log)
    join unnest(v_leases.lease_ids) with ordinality l(lease_id, number) on l.lease_id = i.fence >> 10
    where v_leases.ids[v_leases.offsets[l.number] + (i.fence & 1023) + 1] = i.id;
    select e.ended, e.due, e.released into ended, v_due, released from carillon.end_executions(v_now, v_done.ids, p_fences => v_done.fences,
      p_workers => v_done.workers, p_started_at => v_done.started_at, p_results => v_done.results,
      p_progress => case when p_progress is not null then v_done.progress end, p_logs => case when p_logs is not null then v_done.logs end) e;
  elsif v_leases.lease_ids is not null then
    select d.ended, d.returned, d.due, d.released into ended, v_returned, v_due, released from carillon.report_others(v_leases.lease_ids, v_leases.workers,
      v_leases.times, v_leases.began, v_leases.offsets, v_leases.ids, p_ids, p_fences, p_outcomes, p_nexts, p_reasons, p_retries_at,
      p_started_at, p_results, p_errors, p_progress, p_logs, p_actors, v_now) d;
  end if;
  ended := coalesce(ended, '{}');
  v_all := cardinality(ended) + cardinality(v_returned) = cardinality(p_ids);

  if cardinality(ended) + cardinality(v_returned) > 0 then
    -- Leases of which nothing is left go.
    select array_agg(v_leases.places[c.number]) filter (where c.n >= v_leases.open[c.number]) gone,
      array_agg(v_leases.places[c.number]) filter (where c.n < v_leases.open[c.number]) kept,
      array_agg(v_leases.open[c.number] - c.n) filter (where c.n < v_leases.open[c.number]) open
    into v_back from (
      select l.number, count(*)::int n from unnest(p_ids, p_fences) i(id, fence)
      join unnest(v_leases.lease_ids) with ordinality l(lease_id, number) on l.lease_id = i.fence >> 10
      where v_all or i.id = any (ended) or i.id = any (v_returned)
      group by l.number) c;
    if v_back.gone is not null then
      delete from carillon.leases l where l.ctid = any (v_back.gone);
    end if;
    if v_back.kept is not null then
      update carillon.leases l set open = k.open from unnest(v_back.kept, v_back.open) k(place, open)
      where l.ctid = k.place and l.ctid = any (v_back.kept);
    end if;
    if v_leases.noted then
      delete from carillon.lease_notes n where n.execution_id = any (ended || v_returned);
    end if;
    if v_completed or p_outcomes is not null then
      delete from carillon.completions c where c.execution_id = any (ended || v_returned);
    end if;
  end if;
  if v_returned <> '{}' then
    select min(i.at) into retry_due from unnest(p_ids, p_retries_at) i(id, at) where i.id = any (v_returned);
  end if;
  retry_due := least(retry_due, carillon.ms(v_due));

  if v_all and v_returned = '{}' then
    ended := null;
  elsif v_all then
    verdicts := array_fill('ACCEPTED'::text, array[cardinality(p_ids)]);
  else
    verdicts := carillon.report_verdicts(p_ids, p_fences, p_outcomes, p_actors, ended || v_returned, v_now);
  end if;
  return next;
end $$;

-- The part of REPORT for whatever is not a plain success: decides for each entry what it comes to. l_*: the leases, as REPORT has them.
create or replace function carillon.report_others(
  l_ids bigint[], l_workers uuid[], l_times timestamptz[], l_began boolean[], l_offsets int[], l_executions uuid[],
  p_ids uuid[], p_fences bigint[], p_outcomes text[], p_nexts text[], p_reasons text[], p_retries_at bigint[], p_started_at bigint[],
  p_results text[], p_errors jsonb[], p_progress text[], p_logs text[], p_actors text[], p_now timestamptz,
  out ended uuid[], out returned uuid[], out due timestamptz, out released smallint[])
language plpgsql volatile
set enable_nestloop = on set enable_hashjoin = off
as $$
declare
  v_locked uuid[];
  v_part record;
begin
  -- What has to be waited for comes first, and by id.
  perform from unnest(p_ids, p_outcomes) i(id, outcome) join carillon.executions e on e.execution_id = i.id
  where coalesce(i.outcome, 'SUCCEEDED') = 'SUCCEEDED' and e.state is null order by e.execution_id for no key update of e;
  -- A transaction that completes the execution holds its ledger row: it is left to that one.
  v_locked := array(
    select e.execution_id from unnest(p_ids, p_outcomes) i(id, outcome) join carillon.executions e on e.execution_id = i.id
    where i.outcome <> 'SUCCEEDED' and e.state is null order by e.execution_id for update of e skip locked);
  ended := '{}';
  returned := '{}';
  for v_part in
    with proven as (
      select i.*, coalesce(n.worker_id, l_workers[l.number]) worker_id, l_times[l.number] leased_at, coalesce(n.began, l_began[l.number]) began,
        coalesce(i.said_progress, n.progress) progress, n.cancel_at, n.cancel_reason, n.cancel_by, c.execution_id is not null completed, c.result completed_result
      from unnest(p_ids, p_fences, coalesce(p_outcomes, array_fill('SUCCEEDED'::text, array[cardinality(p_ids)])), p_nexts, p_reasons,
        p_retries_at, p_started_at, p_results, p_errors, p_progress, p_logs, p_actors)
        i(id, fence, outcome, next, reason, retry_at, started_at, result, error, said_progress, log, actor)
      join unnest(l_ids) with ordinality l(lease_id, number) on l.lease_id = i.fence >> 10
      left join lateral (select * from carillon.lease_notes x where x.execution_id = i.id and x.fence = i.fence offset 0) n on true
      left join lateral (select * from carillon.completions x where x.execution_id = i.id and x.fence = i.fence offset 0) c on true
      where l_executions[l_offsets[l.number] + (i.fence & 1023) + 1] = i.id
        and (i.outcome = 'SUCCEEDED' or i.id = any (v_locked))
        and (i.next is distinct from 'RETRY_UNBEGUN' or not coalesce(n.began, l_began[l.number]))
    ), decided as (
      select p.id, p.fence, p.worker_id, p.leased_at, p.progress, p.retry_at, p.error, p.log, p.actor, p.cancel_by,
        least(coalesce(carillon.at(p.started_at), p.leased_at), p_now) started_at,
        case when p.completed then p.completed_result else p.result end result,
        case when p.completed or p.outcome = 'SUCCEEDED' then 'SUCCEEDED'
             when p.outcome = 'COMPLETED_IN_TRANSACTION' then 'FAILED'
             -- What never began uses no attempt.
             when p.outcome = 'CANCELLED' and p.started_at is null and not p.began then 'HANDED_BACK' else p.outcome end outcome,
        case when p.completed or p.outcome = 'SUCCEEDED' then 'SUCCEEDED'
             when p.cancel_reason = 'DEADLINE' then 'DEAD'
             when p.cancel_at is not null or p.outcome = 'CANCELLED' then 'CANCELLED'
             when p.next = 'DEAD' then 'DEAD' end state,
        case when p.completed or p.outcome = 'SUCCEEDED' then null
             when p.cancel_at is not null then p.cancel_reason
             else p.reason end reason,
        -- Its own transaction completed it, and the report says something else: a handler that threw after that, a lost worker.
        case when p.completed and p.outcome not in ('SUCCEEDED', 'COMPLETED_IN_TRANSACTION') then p.outcome end said
      from proven p
    ), written as materialized (
      select d.*, (d.outcome = 'HANDED_BACK')::int released, d.state is null back,
        case when d.said is not null then jsonb_build_object('at', carillon.ms(p_now), 'to', 'SUCCEEDED', 'actor', d.actor,
            'reason', 'COMPLETED_IN_TRANSACTION', 'said', d.said, 'saidUnder', d.fence)
          when d.state is distinct from 'SUCCEEDED' then jsonb_strip_nulls(jsonb_build_object(
            'at', carillon.ms(p_now), 'to', coalesce(d.outcome, d.state), 'actor', d.actor, 'reason', d.reason, 'attempt', e.attempt + 1,
            'fence', d.fence, 'workerId', d.worker_id, 'startedAt', carillon.ms(d.started_at), 'error', d.error)) end entry
      from decided d join carillon.executions e on e.execution_id = d.id)
    select w.back, array_agg(w.id) ids, array_agg(w.state) states, array_agg(w.fence) fences, array_agg(w.worker_id) workers,
      array_agg(w.started_at) started_at, array_agg(w.result) results, array_agg(w.reason) reasons,
      array_agg(case when w.state is distinct from 'SUCCEEDED' then w.error end) errors, array_agg(w.progress) progress,
      array_agg(w.log) logs, array_agg(w.entry) entries, array_agg(w.released) releases, array_agg(w.outcome) outcomes,
      array_agg(w.retry_at) dues, array_agg(w.cancel_by) actors
    from written w group by w.back
  loop
    if v_part.back then
      returned := carillon.return_executions(p_now, v_part.ids, v_part.fences, v_part.workers, v_part.started_at, v_part.results,
        v_part.errors, v_part.progress, v_part.logs, v_part.entries, v_part.releases, v_part.outcomes, v_part.reasons, v_part.dues,
        v_part.actors);
    else
      select e.ended, e.due, e.released into ended, due, released from carillon.end_executions(p_now, v_part.ids, v_part.states, v_part.fences, v_part.workers,
        v_part.started_at, v_part.results, v_part.reasons, v_part.errors, v_part.progress, v_part.logs, v_part.entries, v_part.releases,
        v_part.outcomes, v_part.actors) e;
    end if;
  end loop;
end $$;

-- What became of each entry that was not taken over, and what goes on record of it. p_done: those that were.
create or replace function carillon.report_verdicts(
  p_ids uuid[], p_fences bigint[], p_outcomes text[], p_actors text[], p_done uuid[], p_now timestamptz) returns text[]
language plpgsql volatile
set enable_nestloop = on set enable_hashjoin = off
as $$
declare
  v_verdicts text[];
begin
  select array_agg(
    case when i.id = any (p_done) then 'ACCEPTED'
         when e.state is null and coalesce(e.fence, -1) < i.fence and exists (
           select from carillon.leases l where l.lease_id = i.fence >> 10 and l.ids[(i.fence & 1023) + 1] = i.id) then 'BUSY'
         -- The same report once more, after its answer was lost.
         when e.fence = i.fence and (e.state = o.outcome or e.state = 'SUCCEEDED' and o.outcome = 'COMPLETED_IN_TRANSACTION')
           or e.history @> jsonb_build_array(jsonb_build_object('saidUnder', i.fence, 'said', o.outcome))
           or e.history @> jsonb_build_array(jsonb_build_object('fence', i.fence,
             'to', case o.outcome when 'COMPLETED_IN_TRANSACTION' then 'FAILED' else o.outcome end)) then 'ACCEPTED'
         else 'REFUSED' end
    order by i.number)
  into v_verdicts
  from unnest(p_ids, p_fences, p_outcomes) with ordinality i(id, fence, outcome, number)
  cross join lateral (select coalesce(i.outcome, 'SUCCEEDED') outcome) o
  left join lateral (select * from carillon.executions x where x.execution_id = i.id offset 0) e on true;

  perform carillon.note_refusals('execution.report_refused', array_agg(e.tenant), array_agg(coalesce(i.actor, 'worker')),
    array_agg(i.id::text), array_agg(
      jsonb_build_object('fence', i.fence, 'outcome', coalesce(i.outcome, 'SUCCEEDED'), 'currentFence', coalesce(r.fence, e.fence))
        || case when e.fence = i.fence and e.state is not null then jsonb_build_object('ended', e.state) else '{}' end), p_now)
  from unnest(p_ids, p_fences, p_outcomes, p_actors, v_verdicts) i(id, fence, outcome, actor, verdict)
  left join lateral (select * from carillon.executions x where x.execution_id = i.id offset 0) e on true
  left join lateral (
    select carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) fence where e.state is null) r on true
  where i.verdict = 'REFUSED';
  return v_verdicts;
end $$;
