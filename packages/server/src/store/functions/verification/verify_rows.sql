-- What each row of the ledger must be in itself and beside the queue tables. No locks. Every statement
-- sees the same moment: a stable function sees what its caller's statement sees.
--
-- p_after, p_before: ids, both exclusive. At most p_limit rows are walked over. Answers what is wrong (`why`), and the ids that
-- the caller computes again (`why` null, `origin` given); a row may be answered more than once. `once`: it fires once, or has.
-- `last_id`, `walked`, `open` (executions that have not ended): in every answer; alone in one if there is nothing else.
-- p_lost_ms: a worker silent for that long is lost; null: unknown.
--
-- What must have ended: the engine has two minutes from the latest moment at which it had to act, and from when it could: the
-- start of the server and of the oldest node. See docs/decisions/0037-verify-ends-and-counts.md.
-- Indexes: executions_pkey, executions_tenant or executions_job; jobs_by_id; primary keys. A row that SUCCEEDED costs no look elsewhere.
-- [m] CPU of a page of 1,000: 6.7 ms if all SUCCEEDED, 12.5 if all are ready; when only ids were computed again 2.5.
create or replace function carillon.verify_rows(
  p_tenant text, p_job uuid, p_after uuid, p_before uuid, p_limit int, p_lost_ms float8, p_now timestamptz)
returns table (last_id uuid, walked int, open int, id uuid, job_id uuid, tenant text, nominal bigint, origin text, once boolean,
  why text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  -- What should have happened before this moment should be visible by now.
  v_due timestamptz := v_now - interval '2 minutes';
  v_slack interval := interval '10 seconds';
  v_fence bigint;
  v_walked uuid[];
  v_last uuid;
  v_open uuid[];
  v_fences bigint[];
begin
  if p_now is null then
    -- A server or an installation that has just come up has not had its time yet: nothing is due before that.
    if v_due < greatest(pg_postmaster_start_time(), (select min(n.started_at) from carillon.nodes n where n.lease_until > v_now)) then
      v_due := '-infinity';
    end if;
  end if;
  select (last_value << 10) + 1023 into v_fence from carillon.lease_ids;
  if p_job is not null then
    select array_agg(x.execution_id), array_agg(x.execution_id) filter (where x.state is null), array_agg(x.fence)
    into v_walked, v_open, v_fences from (
      select e.execution_id, e.state, e.fence from carillon.executions e
      where e.job_id = p_job and e.job_id <> e.execution_id and e.execution_id > p_after and e.execution_id < p_before
        and (p_tenant is null or e.tenant = p_tenant)
      order by e.execution_id limit p_limit) x;
  elsif p_tenant is not null then
    select array_agg(x.execution_id), array_agg(x.execution_id) filter (where x.state is null), array_agg(x.fence)
    into v_walked, v_open, v_fences from (
      select e.execution_id, e.state, e.fence from carillon.executions e
      where e.tenant = p_tenant and e.execution_id > p_after and e.execution_id < p_before
      order by e.execution_id limit p_limit) x;
  else
    select array_agg(x.execution_id), array_agg(x.execution_id) filter (where x.state is null), array_agg(x.fence)
    into v_walked, v_open, v_fences from (
      select e.execution_id, e.state, e.fence from carillon.executions e
      where e.execution_id > p_after and e.execution_id < p_before order by e.execution_id limit p_limit) x;
  end if;
  v_walked := coalesce(v_walked, '{}');
  v_fences := array(select f from unnest(v_fences) f where f is not null group by f having count(*) > 1);
  -- The other tables are read up to there.
  v_last := case when cardinality(v_walked) < p_limit then 'ffffffff-ffff-ffff-ffff-ffffffffffff'
                 else v_walked[cardinality(v_walked)] end;

  return query
  with judged as (
    select r.*, coalesce(j.type in ('ONE_SHOT', 'DELAYED'), true) once, case
      when r.state is null then null   -- see below
      when r.state = 'SUCCEEDED' and (r.fence is null or r.worker_id is null or r.started_at is null or r.reason is not null)
        -- One that a person had replayed keeps the fence of its former life: older reports are refused by it.
        or r.state = 'SKIPPED' and (r.started_at is not null or r.attempt + r.releases > 0
          or r.fence is not null and not coalesce(r.history @> '[{"reason": "REPLAYED"}]', false))
        or r.state <> 'SKIPPED' and r.skipped_last is not null or r.fence > v_fence then 'STATE'
      -- What ended otherwise says so in its history, but for what was CANCELLED when it was put on record.
      when (r.state = 'DEAD' or r.state = 'CANCELLED' and r.finished_at <> r.fired_at)
        and not coalesce(r.history @> jsonb_build_array(jsonb_build_object('at', carillon.ms(r.finished_at))), false) then 'STATE'
      -- A purge takes dead letters from the endings.
      when r.state in ('SKIPPED', 'CANCELLED')
        and not exists (select from carillon.endings n where n.execution_id = r.execution_id and n.state = r.state) then 'STATE'
      when p_job is not null and (exists (select from carillon.retries x where x.execution_id = r.execution_id)
        or exists (select from carillon.waiting x where x.execution_id = r.execution_id)
        or exists (select from carillon.endings x where x.execution_id = r.execution_id and x.state <> r.state)) then 'STATE'
      when r.finished_at < r.fired_at - v_slack or r.finished_at > v_now + v_slack then 'TIMES'
      when r.state = 'SKIPPED' and not case
        when r.reason = 'EXPIRED' then coalesce(r.expires_at <= r.finished_at, false)
        when r.origin = 'DAG' then r.reason in ('DEPENDENCY_FAILED', 'DEPENDENCY_SKIPPED', 'CONDITION_FALSE', 'CONDITION_FAILED',
          'INPUTS_TOO_LARGE')
        -- The others are decided when the occurrence is put on record, and never after.
        when r.finished_at <> r.fired_at then false
        when r.reason = 'OVERLAP' then r.guarded and r.origin in ('SCHEDULE', 'TRIGGER')
        when r.reason in ('MISFIRED', 'GRACE_EXCEEDED', 'CATCH_UP_LIMIT')
          then r.origin = 'SCHEDULE' and r.fired_at > r.due_at - v_slack
        else r.reason in ('PAUSED', 'EDITED') and (r.origin = 'SCHEDULE' or r.origin = 'TRIGGER' and r.history -> 0 ? 'after')
        end then 'SKIP_REASON'
      when r.history is null and (r.attempt <> (r.state = 'SUCCEEDED')::int or r.releases <> 0) then 'ATTEMPTS'
      when r.history is not null and (r.attempt <> carillon.attempts_of(r.history, r.fence, r.state)
        or r.releases <> carillon.releases_of(r.history)) then 'ATTEMPTS'
      end why, j.job_id is not null known
    from unnest(v_walked) w(execution_id)
    -- The limit keeps the planner from looking for the array's ids in the table's rows instead.
    cross join lateral (
      select e.execution_id, e.job_id, e.job_version, e.tenant, e.origin, e.guarded, e.scheduled_for, e.due_at, e.fired_at,
        e.expires_at, e.skipped_last, e.state, e.reason, e.attempt, e.releases, e.started_at, e.finished_at, e.worker_id, e.fence,
        e.history
      from carillon.executions e where e.execution_id = w.execution_id limit 1) r
    left join carillon.jobs j on j.job_id = case when r.job_id <> r.execution_id then r.job_id end
  ), told as (
    select g.execution_id id, g.job_id, g.tenant, g.scheduled_for, g.origin, g.once, coalesce(g.why, case
      when g.job_id = g.execution_id and carillon.time_of(g.execution_id) <> carillon.ms(g.scheduled_for)
        -- A step is due when those it depends on have ended, and on record before.
        or g.fired_at < g.due_at - v_slack and g.reason is distinct from 'EDITED' and g.origin <> 'DAG' or g.fired_at > v_now + v_slack
        then 'TIMES'
      -- A job that recurs goes after its last row.
      when g.job_version is not null and not g.known and g.job_id <> g.execution_id and g.state is distinct from 'SKIPPED'
        then 'JOB_GONE' end) why
    from judged g
    union all
    -- What has not ended.
    select o.execution_id, o.job_id, o.tenant, o.scheduled_for, null, false, o.why
    from carillon.why_open(v_open, p_lost_ms, v_due) o
    union all
    -- Two that name the same lease.
    select e.execution_id, e.job_id, e.tenant, e.scheduled_for, null, false, 'SAME_FENCE'
    from unnest(case when v_fences <> '{}' then v_walked end) w(execution_id)
    join carillon.executions e on e.execution_id = w.execution_id and e.fence = any (v_fences)
    union all
    -- Ends without the row they are of, or of a row that says otherwise.
    select n.execution_id, coalesce(e.job_id, n.execution_id), n.tenant,
      coalesce(e.scheduled_for, carillon.at(carillon.time_of(n.execution_id))), null, false, case when e.execution_id is null then 'ROW_GONE' else 'STATE' end
    from (
      select n.execution_id, n.tenant, n.state from carillon.endings n
      where p_job is null and p_tenant is null
        and n.execution_id > p_after and n.execution_id <= v_last and n.execution_id < p_before
      union all
      select n.execution_id, n.tenant, n.state from unnest('{DEAD,CANCELLED,SKIPPED,SUCCEEDED}'::text[]) s(state)
      join carillon.endings n on n.tenant = p_tenant and n.state = s.state
        and n.execution_id > p_after and n.execution_id <= v_last and n.execution_id < p_before
      where p_job is null and p_tenant is not null) n
    left join carillon.executions e on e.execution_id = n.execution_id
    where e.state is distinct from n.state and not (e.execution_id is null and carillon.is_quarantined(n.execution_id))
    union all
    -- What stands in a queue and is not in the ledger, or has ended there.
    select h.execution_id, coalesce(e.job_id, h.execution_id), coalesce(e.tenant, h.tenant),
      coalesce(e.scheduled_for, carillon.at(carillon.time_of(h.execution_id))), null, false,
      case when e.execution_id is null then 'ROW_GONE' else 'STATE' end
    from (
      select u.execution_id, null::text tenant from carillon.leases l cross join lateral unnest(l.ids) u(execution_id)
      where l.open = cardinality(l.ids) and u.execution_id > p_after and u.execution_id <= v_last and u.execution_id < p_before
      union all
      select x.execution_id, x.tenant from carillon.retries x
      where x.execution_id > p_after and x.execution_id <= v_last and x.execution_id < p_before
      union all
      select x.execution_id, null from carillon.waiting x
      where x.execution_id > p_after and x.execution_id <= v_last and x.execution_id < p_before
      union all
      select x.execution_id, null from carillon.blocked x
      where x.execution_id <> x.run_id and x.execution_id > p_after and x.execution_id <= v_last and x.execution_id < p_before) h
    left join carillon.executions e on e.execution_id = h.execution_id
    where p_job is null and (e.execution_id is null or e.state is not null)
      and (p_tenant is null or coalesce(e.tenant, h.tenant) = p_tenant)
    union all
    -- Submissions of callers' transactions that have not fired, and what follows other executions.
    select u.execution_id, coalesce(u.job_id, u.execution_id), u.tenant, u.run_at, null, false, 'NOT_FIRED'
    from carillon.submissions u
    where p_job is null and u.execution_id > p_after and u.execution_id <= v_last and u.execution_id < p_before
      and u.run_at < v_due and (p_tenant is null or u.tenant = p_tenant) and not carillon.is_quarantined(u.execution_id)
  )
  select v_walked[cardinality(v_walked)], cardinality(v_walked), coalesce(cardinality(v_open), 0), t.id, t.job_id,
    coalesce(t.tenant, ''), carillon.ms(t.scheduled_for), t.origin, t.once, t.why
  from (values (1)) one left join told t
    on t.why is not null or t.id <> t.job_id and t.origin in ('SCHEDULE', 'BACKFILL', 'SUBMIT')
  order by t.id;
end $$;

-- What executions that have not ended should have come to: answers those that should have. p_due: what was to happen before then has
-- happened. Indexes: primary keys; executions_job for what waits.
create or replace function carillon.why_open(p_ids uuid[], p_lost_ms float8, p_due timestamptz)
returns table (execution_id uuid, job_id uuid, tenant text, scheduled_for timestamptz, why text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_lost interval := p_lost_ms * interval '1 millisecond';
begin
  return query
  select o.execution_id, o.job_id, o.tenant, o.scheduled_for, o.why from (
    select e.*, case
      when e.state is not null then null
      when h.holders = 0 then case when carillon.is_quarantined(e.execution_id) then null else 'NO_HOLDER' end
      when h.holders > 1 or e.skipped_last is not null then 'STATE'
      when e.history is null and e.attempt + e.releases > 0 or r.attempt <> e.attempt + 1 or r.fence <= e.fence then 'ATTEMPTS'
      when e.history is not null and (e.attempt <> carillon.attempts_of(e.history, e.fence, null)
        or e.releases <> carillon.releases_of(e.history)) then 'ATTEMPTS'
      when e.deadline_at + coalesce(r.grace_sec, 0) * interval '1 second' < p_due then 'DEADLINE_PASSED'
      when r.overdue_at < p_due or r.began and r.heartbeat_at + r.heartbeat_timeout_sec * interval '1 second' < p_due
        then 'ATTEMPT_OVERDUE'
      -- Not deferred ones: an external system sends no heartbeats.
      when r.leased_at + v_lost < p_due and r.worker_id <> '00000000-0000-0000-0000-000000000000'
        and not exists (select from carillon.workers w where w.worker_id = r.worker_id and w.seen_at + v_lost >= p_due)
        then 'WORKER_LOST'
      when r.execution_id is not null then null
      when e.expires_at < p_due and e.attempt + e.releases = 0 then 'START_OVERDUE'
      -- All that it waited for has ended, and nobody took it up.
      when b.remaining = 0 and not b.held then 'WAITS_FOR_NOTHING'
      when t.due < p_due then 'RETRY_OVERDUE'
      -- It waits, and no other one of its job is under way, or was a moment ago: most likely that would be one of the last.
      when y.tenant is null and y.execution_id is not null and (
        select x.execution_id from carillon.executions x
        where x.job_id = e.job_id and x.job_id <> x.execution_id and x.execution_id <> e.execution_id
          and (x.state is null and not exists (select from carillon.waiting z where z.execution_id = x.execution_id and z.tenant is null)
            or x.finished_at >= p_due)
        order by x.execution_id desc limit 1) is null then 'WAITS_FOR_NOTHING'
      -- It waits for a limit that has room for it, and nothing says that it is to be looked at.
      when y.tenant is not null and not exists (select from carillon.limit_changes c where c.key = y.key)
        and (select r.room from carillon.limit_room(y.key, p_due) r) > 0 then 'WAITS_FOR_NOTHING' end why
    from unnest(p_ids) i(execution_id)
    cross join lateral (select * from carillon.executions e where e.execution_id = i.execution_id limit 1) e
    left join lateral carillon.held(e.*) r on true
    left join carillon.retries t on t.execution_id = i.execution_id
    left join carillon.waiting y on y.execution_id = i.execution_id
    left join carillon.blocked b on b.execution_id = i.execution_id
    left join carillon.ready q on q.pool = e.pool and q.lane = e.lane and q.tag = e.tag and q.execution_id = e.execution_id
    cross join lateral (
      select num_nonnulls(r.execution_id, t.execution_id, y.execution_id, b.execution_id, q.execution_id) holders) h) o
  where o.why is not null;
end $$;

-- Attempts in a history since the last replay by a person. Null: the history was shortened.
create or replace function carillon.attempts_of(p_history jsonb, p_fence bigint, p_state text) returns int
  language sql immutable parallel safe
  return case when p_history is null then (p_state is not distinct from 'SUCCEEDED')::int
    when jsonb_array_length(p_history) < 50 then (p_state is not distinct from 'SUCCEEDED')::int + (
      select count(distinct h.entry ->> 'fence')::int from carillon.lately(p_history) h(entry)
      where h.entry ? 'attempt' and h.entry ->> 'to' <> 'HANDED_BACK'
        and not (p_state is not distinct from 'SUCCEEDED' and (h.entry ->> 'fence')::bigint = p_fence)) end;

create or replace function carillon.releases_of(p_history jsonb) returns int
  language sql immutable parallel safe
  return case when p_history is null then 0 when jsonb_array_length(p_history) < 50 then (
    select count(*)::int from carillon.lately(p_history) h(entry) where h.entry ->> 'to' = 'HANDED_BACK') end;
