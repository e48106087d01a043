-- What each row of the ledger must be in itself and beside the tables that say where an execution stands. No locks. Every statement
-- sees the same moment: a stable function sees what its caller's statement sees.
--
-- p_after, p_before: ids, both exclusive. At most p_limit rows are walked over. Answers what is wrong (`why`), and the ids that
-- the caller computes again (`why` null). `once`: it fires once, or has. `last_id`, `walked`, `open` (executions that have not ended):
-- in every answer; alone in one if there is nothing else.
-- p_lost_ms: a worker silent for that long is lost; null: nobody knows.
--
-- What must have ended: the engine has two minutes from the latest moment at which it had to act, and from when it could: the
-- start of the server and of the oldest node. See docs/decisions/0037-verify-ends-and-counts.md.
-- Indexes: executions_pkey, executions_tenant or executions_job; jobs_by_id; primary keys. A row that SUCCEEDED costs no further look.
create or replace function carillon.verify_rows(
  p_tenant text, p_job uuid, p_after uuid, p_before uuid, p_limit int, p_lost_ms float8, p_now timestamptz)
returns table (last_id uuid, walked int, open int, id uuid, job_id uuid, tenant text, nominal bigint, origin text, once boolean,
  why text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
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
  v_open int;
begin
  if p_now is null then
    -- A server or an installation that has just come up has not had its time yet: nothing is due before that.
    if v_due < greatest(pg_postmaster_start_time(), (select min(n.started_at) from carillon.nodes n where n.lease_until > v_now)) then
      v_due := '-infinity';
    end if;
  end if;
  select last_value into v_fence from carillon.fences;
  if p_job is not null then
    v_walked := array(select e.execution_id from carillon.executions e
                      where e.job_id = p_job and e.job_id <> e.execution_id and e.execution_id > p_after
                        and e.execution_id < p_before and (p_tenant is null or e.tenant = p_tenant)
                      order by e.execution_id limit p_limit);
  elsif p_tenant is not null then
    v_walked := array(select e.execution_id from carillon.executions e
                      where e.tenant = p_tenant and e.execution_id > p_after and e.execution_id < p_before
                      order by e.execution_id limit p_limit);
  else
    v_walked := array(select e.execution_id from carillon.executions e
                      where e.execution_id > p_after and e.execution_id < p_before order by e.execution_id limit p_limit);
  end if;
  -- The other tables are read up to there.
  v_last := case when cardinality(v_walked) < p_limit then 'ffffffff-ffff-ffff-ffff-ffffffffffff'
                 else v_walked[cardinality(v_walked)] end;

  return query
  with rows as materialized (
    select e.*, coalesce(j.type in ('ONE_SHOT', 'DELAYED'), true) once, j.job_id is not null known,
      count(*) over (partition by e.fence) leases
    from unnest(v_walked) w(execution_id)
    -- The limit keeps the planner from looking for the array's ids in the table's rows instead.
    cross join lateral (
      select e.execution_id, e.job_id, e.job_version, e.tenant, e.pool, e.lane, e.tag, e.origin, e.guarded, e.scheduled_for, e.due_at,
        e.fired_at, e.expires_at, e.deadline_at, e.skipped_last, e.state, e.reason, e.attempt, e.releases, e.started_at,
        e.finished_at, e.worker_id, e.fence, e.history
      from carillon.executions e where e.execution_id = w.execution_id limit 1) e
    left join carillon.jobs j on j.job_id = case when e.job_id <> e.execution_id then e.job_id end
  ), judged as (
    select r.execution_id, r.job_id, r.tenant, r.scheduled_for, r.origin, r.once, case
      when r.state is null then coalesce(
        carillon.why_open(r.execution_id, r.job_id, r.pool, r.lane, r.tag, r.attempt, r.releases, r.fence, r.expires_at,
          r.deadline_at, p_lost_ms, v_due),
        case when r.skipped_last is not null then 'STATE'
             when r.attempt <> carillon.attempts_of(r.history, r.fence, r.state) or r.releases <> carillon.releases_of(r.history)
             then 'ATTEMPTS' end)
      when r.state = 'SUCCEEDED' and (r.fence is null or r.worker_id is null or r.started_at is null or r.reason is not null)
        or r.state = 'SKIPPED' and (r.fence is not null or r.started_at is not null or r.attempt + r.releases > 0)
        or r.state <> 'SKIPPED' and r.skipped_last is not null or r.fence > v_fence then 'STATE'
      -- What ended otherwise says so in its history, but for what was CANCELLED when it was put on record.
      when (r.state = 'DEAD' or r.state = 'CANCELLED' and r.finished_at <> r.fired_at)
        and not coalesce(r.history @> jsonb_build_array(jsonb_build_object('at', carillon.ms(r.finished_at))), false) then 'STATE'
      -- A purge takes dead letters from the endings.
      when r.state in ('SKIPPED', 'CANCELLED')
        and not exists (select from carillon.endings n where n.execution_id = r.execution_id and n.state = r.state) then 'STATE'
      when p_job is not null and (exists (select from carillon.running x where x.execution_id = r.execution_id)
        or exists (select from carillon.retries x where x.execution_id = r.execution_id)
        or exists (select from carillon.waiting x where x.execution_id = r.execution_id)
        or exists (select from carillon.endings x where x.execution_id = r.execution_id and x.state <> r.state)) then 'STATE'
      when r.finished_at < r.fired_at - v_slack or r.finished_at > v_now + v_slack then 'TIMES'
      when r.state = 'SKIPPED' and not case r.reason
        when 'EXPIRED' then coalesce(r.expires_at <= r.finished_at, false)
        -- Decided when the occurrence was put on record, and never after.
        when 'OVERLAP' then r.guarded and r.origin in ('SCHEDULE', 'TRIGGER') and r.finished_at = r.fired_at
        when 'MISFIRED' then r.origin = 'SCHEDULE' and r.finished_at = r.fired_at and r.fired_at > r.due_at - v_slack
        when 'GRACE_EXCEEDED' then r.origin = 'SCHEDULE' and r.finished_at = r.fired_at and r.fired_at > r.due_at - v_slack
        when 'CATCH_UP_LIMIT' then r.origin = 'SCHEDULE' and r.finished_at = r.fired_at and r.fired_at > r.due_at - v_slack
        when 'PAUSED' then r.origin = 'SCHEDULE' and r.finished_at = r.fired_at
        when 'EDITED' then r.origin = 'SCHEDULE' and r.finished_at = r.fired_at
        else false end then 'SKIP_REASON'
      when r.fence is not null and r.leases > 1 then 'SAME_FENCE'
      when r.attempt <> carillon.attempts_of(r.history, r.fence, r.state) or r.releases <> carillon.releases_of(r.history)
        then 'ATTEMPTS'
      end why, case when r.job_id = r.execution_id then carillon.time_of(r.execution_id) end id_time, r.known, r.job_version, r.fired_at, r.due_at, r.reason, r.state
    from rows r
  ), told as (
    select g.execution_id id, g.job_id, g.tenant, g.scheduled_for, g.origin, g.once, coalesce(g.why, case
      when g.id_time <> carillon.ms(g.scheduled_for) then 'TIMES'
      when g.fired_at < g.due_at - v_slack and g.reason is distinct from 'EDITED' or g.fired_at > v_now + v_slack then 'TIMES'
      -- A job that recurs goes after its last row.
      when g.job_version is not null and not g.known and g.job_id <> g.execution_id and g.state is distinct from 'SKIPPED'
        then 'JOB_GONE' end) why
    from judged g
    union all
    -- Ends without the row they are of, or of a row that says otherwise.
    select n.execution_id, coalesce(e.job_id, n.execution_id), n.tenant, coalesce(e.scheduled_for, carillon.at(carillon.time_of(n.execution_id))),
      null, false, case when e.execution_id is null then 'ROW_GONE' else 'STATE' end
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
      select x.execution_id, null::text tenant from carillon.running x
      where x.execution_id > p_after and x.execution_id <= v_last and x.execution_id < p_before
      union all
      select x.execution_id, x.tenant from carillon.retries x
      where x.execution_id > p_after and x.execution_id <= v_last and x.execution_id < p_before
      union all
      select x.execution_id, null from carillon.waiting x
      where x.execution_id > p_after and x.execution_id <= v_last and x.execution_id < p_before) h
    left join carillon.executions e on e.execution_id = h.execution_id
    where p_job is null and (e.execution_id is null or e.state is not null)
      and (p_tenant is null or coalesce(e.tenant, h.tenant) = p_tenant)
    union all
    -- What callers enqueued in their own transactions and nobody has fired.
    select u.execution_id, u.execution_id, u.tenant, u.run_at, 'SUBMIT', false, 'NOT_FIRED'
    from carillon.submissions u
    where p_job is null and u.execution_id > p_after and u.execution_id <= v_last and u.execution_id < p_before
      and u.run_at < v_due and (p_tenant is null or u.tenant = p_tenant) and not carillon.is_quarantined(u.execution_id)
  ), figures as (
    select count(*) filter (where r.state is null)::int open from rows r)
  select v_walked[cardinality(v_walked)], cardinality(v_walked), f.open, t.id, t.job_id, coalesce(t.tenant, ''),
    carillon.ms(t.scheduled_for), t.origin, t.once, t.why
  from figures f left join told t
    on t.why is not null or t.id <> t.job_id and t.origin in ('SCHEDULE', 'BACKFILL', 'SUBMIT')
  order by t.id;
end $$;

-- What an execution that has not ended should have come to, if anything. p_due: what was to happen before then has happened.
create or replace function carillon.why_open(
  p_id uuid, p_job uuid, p_pool text, p_lane smallint, p_tag bigint, p_attempt int, p_releases int, p_fence bigint,
  p_expires_at timestamptz, p_deadline_at timestamptz, p_lost_ms float8, p_due timestamptz) returns text
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_running carillon.running;
  v_retry timestamptz;
  v_waits boolean;
  v_ready boolean;
  v_lost interval := p_lost_ms * interval '1 millisecond';
begin
  select * into v_running from carillon.running r where r.execution_id = p_id;
  select t.due into v_retry from carillon.retries t where t.execution_id = p_id;
  v_waits := exists (select from carillon.waiting w where w.execution_id = p_id);
  v_ready := exists (select from carillon.ready q
                     where q.pool = p_pool and q.lane = p_lane and q.tag = p_tag and q.execution_id = p_id);
  case (v_running.execution_id is not null)::int + (v_retry is not null)::int + v_waits::int + v_ready::int
    when 0 then return case when carillon.is_quarantined(p_id) then null else 'NO_HOLDER' end;
    when 1 then null;
    else return 'STATE';
  end case;
  if p_deadline_at + coalesce(v_running.grace_sec, 0) * interval '1 second' < p_due then
    return 'DEADLINE_PASSED';
  elsif v_running.execution_id is not null then
    return case
      when v_running.attempt <> p_attempt + 1 or v_running.fence <= p_fence then 'ATTEMPTS'
      when v_running.overdue_at < p_due or v_running.began
        and v_running.heartbeat_at + v_running.heartbeat_timeout_sec * interval '1 second' < p_due then 'ATTEMPT_OVERDUE'
      -- Not one that is left to somebody outside, who is not heard of until the end.
      when v_running.worker_id <> '00000000-0000-0000-0000-000000000000' and v_running.leased_at + v_lost < p_due
        and not exists (select from carillon.workers w
                        where w.worker_id = v_running.worker_id and w.seen_at + v_lost >= p_due) then 'WORKER_LOST' end;
  elsif p_expires_at < p_due and p_attempt + p_releases = 0 then
    return 'START_OVERDUE';
  elsif v_retry < p_due then
    return 'RETRY_OVERDUE';
  elsif v_waits then
    -- Another one of its job that is not waiting itself, or was there a moment ago: most likely one of the last.
    perform from carillon.executions x
    where x.job_id = p_job and x.job_id <> x.execution_id and x.execution_id <> p_id
      and (x.state is null and not exists (select from carillon.waiting y where y.execution_id = x.execution_id)
        or x.finished_at >= p_due)
    order by x.execution_id desc limit 1;
    return case when not found then 'WAITS_FOR_NOTHING' end;
  end if;
  return null;
end $$;

-- Attempts that a history tells of since a person brought the execution back. Null: it is not kept whole.
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
