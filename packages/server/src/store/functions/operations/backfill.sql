-- One step of a BACKFILL: creates executions of past occurrences of a job, in the order of the input, behind live work (lane
-- LOW), with the job's current definition. They re-enter through `retries`. The schedule stays where it is; each one counts
-- as a fire, so that there are never more than `maxFires`.
--
-- p_items: {id, nominal, due, passed, cover}. `passed`: occurrences left alone between the one before and this one.
-- `cover`: null, or the SKIPPED row that stands for it: {id, last, head, prev, tail}. That row may stand for several
-- occurrences; it is cut so that every occurrence is still recorded in exactly one row: `head` of them up to `prev` stay,
-- `tail` {id, nominal, due, count} is born for the rest, or is null.
-- p_passed, p_position: left alone after the last item, and where the walk ended; they count if every item was dealt with.
-- Answers DONE; WAIT (the job limits overlap, and something of it is unfinished: nothing is skipped for that); AGAIN (the job
-- or a row is not what it was: look again); SPENT (maxFires is reached); or LOST (another node has taken up the operation).
-- Locks: operations, schedules, executions by id (items, covers, live ones in one go), endings, retries.
create or replace function carillon.backfill(
  p_id uuid, p_fence bigint, p_job uuid, p_version int, p_items jsonb, p_open uuid[], p_passed int, p_position text,
  p_over boolean, p_delay_ms float8, p_wait_ms float8, p_actor text, p_now timestamptz default null)
returns text
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_floor uuid;
  v_job carillon.jobs;
  v_fires bigint;
  v_item record;
  v_old carillon.executions;
  v_outcome text := 'DONE';
  v_position text;
  v_done bigint := 0;
  v_skipped bigint := 0;
  v_open uuid[] := p_open;
  v_history jsonb;
  v_written boolean;
  v_birth carillon.birth;
  v_expires_at timestamptz;
  v_deadline_at timestamptz;
begin
  if not carillon.hold_operation(p_id, p_fence) then
    return 'LOST';
  end if;
  select s.fires into v_fires from carillon.schedules s where s.job_id = p_job and s.version = p_version for update;
  if found then
    select * into v_job from carillon.jobs j where j.job_id = p_job and j.state <> 'DELETED';
  end if;
  if v_job.job_id is null then
    perform carillon.move_operation(p_id, null, 0, 0, p_open, false, p_wait_ms, v_now);
    return 'AGAIN';
  end if;
  select n.floor_id into v_floor from carillon.installation n;
  perform from (
    select (i ->> 'id')::uuid execution_id from jsonb_array_elements(p_items) i
    union select (i #>> '{cover,id}')::uuid from jsonb_array_elements(p_items) i
    union select l from carillon.schedules s cross join unnest(s.live) l where s.job_id = p_job) x
  join carillon.executions e on e.execution_id = x.execution_id
  order by e.execution_id for no key update of e;

  for v_item in
    select * from jsonb_to_recordset(p_items) i(id uuid, nominal bigint, due bigint, passed int, cover jsonb)
    order by i.nominal
  loop
    if v_job.max_fires <= v_fires then
      v_outcome := 'SPENT';
      exit;
    end if;
    v_history := '[]';
    v_old := null;
    if v_item.cover is not null then
      select * into v_old from carillon.executions e where e.execution_id = (v_item.cover ->> 'id')::uuid;
      if v_old.state is distinct from 'SKIPPED'
          or carillon.ms(coalesce(v_old.skipped_last, v_old.scheduled_for)) <> (v_item.cover ->> 'last')::bigint then
        v_outcome := 'AGAIN';
        exit;
      end if;
      v_history := case when v_old.history -> -1 ->> 'to' = 'SKIPPED' and v_old.execution_id = v_item.id then v_old.history
        else carillon.with_entry(case when v_old.execution_id = v_item.id then v_old.history end, jsonb_build_object(
          'at', carillon.ms(v_old.finished_at), 'to', 'SKIPPED', 'reason', v_old.reason)) end;
    end if;
    if v_job.overlap <> 'ALLOW' and 'READY' <> all (carillon.overlap_verdicts(
        array[p_job], array[v_item.id], array['FORBID'], false, v_now)) then
      v_outcome := 'WAIT';
      exit;
    end if;
    v_skipped := v_skipped + v_item.passed;
    v_position := v_item.nominal::text;
    v_history := carillon.with_entry(v_history, jsonb_build_object('at', carillon.ms(v_now), 'to', 'PENDING',
      'actor', p_actor, 'reason', 'BACKFILLED'));

    v_expires_at := v_now + v_job.start_within_sec * interval '1 second';
    v_deadline_at := v_now + v_job.deadline_sec * interval '1 second';
    v_written := true;
    if v_old.execution_id = v_item.id then
      update carillon.executions x
      set job_version = v_job.version, pool = v_job.pool, lane = 3, handler = v_job.handler, origin = 'BACKFILL',
        guarded = v_job.overlap <> 'ALLOW', expires_at = v_expires_at, deadline_at = v_deadline_at, labels = v_job.labels,
        history = v_history, state = null, reason = null, finished_at = null, skipped_last = null, skipped_count = null,
        attempt = 0, releases = 0
      where x.execution_id = v_item.id;
      insert into carillon.deadlines (execution_id, kind, due)
      select v_item.id, d.kind, d.due from (values ('START', v_expires_at), ('FINISH', v_deadline_at)) d(kind, due)
      where d.due is not null
      on conflict (execution_id, kind) do update set due = excluded.due;
      delete from carillon.endings n where n.execution_id = v_item.id;
      perform carillon.tell_executions(array[v_item.id], 'fired', p_actor, v_now);
    else
      v_birth := carillon.recorded(v_item.id, p_job, v_job.version, v_job.tenant, v_job.pool, 3::smallint, v_job.handler,
        carillon.at(v_item.nominal), carillon.at(v_item.due), v_job.labels, null, null, null, null);
      v_birth.guarded := v_job.overlap <> 'ALLOW';
      v_birth.expires_at := v_expires_at;
      v_birth.deadline_at := v_deadline_at;
      v_birth.history := case when v_old.execution_id is not null then v_history end;
      v_written := v_item.id >= v_floor and carillon.create_executions(v_now, 'BACKFILL', array[v_birth], false, v_old.fired_at,
        p_actor) <> '{}';
    end if;
    if not v_written then
      v_skipped := v_skipped + 1;   -- it fired meanwhile, or its history is going
      continue;
    end if;
    perform carillon.return_later(array[v_item.id], v_now, 'PENDING');
    if v_item.cover is not null then
      perform carillon.cut_skipped(v_old, v_item.id, v_item.cover);
    end if;
    v_done := v_done + 1;
    v_fires := v_fires + 1;
    v_open := v_open || v_item.id;
  end loop;

  update carillon.schedules s set fires = v_fires where s.job_id = p_job and s.fires <> v_fires;
  perform carillon.move_operation(p_id,
    case when v_outcome = 'DONE' then p_position else v_position end, v_done,
    v_skipped + case when v_outcome = 'DONE' then p_passed else 0 end, v_open,
    v_outcome = 'SPENT' or p_over and v_outcome = 'DONE',
    case when v_outcome in ('WAIT', 'AGAIN') then p_wait_ms else p_delay_ms end, v_now);
  return v_outcome;
end $$;

-- What is left of a SKIPPED row that stood for several occurrences, after one of them (p_taken) has a row of its own.
create or replace function carillon.cut_skipped(p_old carillon.executions, p_taken uuid, p_cover jsonb) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  if p_old.execution_id <> p_taken then
    update carillon.executions e
    set skipped_count = nullif((p_cover ->> 'head')::int, 1),
      skipped_last = case when (p_cover ->> 'head')::int > 1 then carillon.at((p_cover ->> 'prev')::bigint) end
    where e.execution_id = p_old.execution_id;
  end if;
  perform carillon.create_executions(clock_timestamp(), p_old.origin, array[carillon.recorded(t.id, p_old.job_id, p_old.job_version,
    p_old.tenant, p_old.pool, p_old.lane, p_old.handler, carillon.at(t.nominal), carillon.at(t.due), p_old.labels, 'SKIPPED',
    p_old.reason, case when t.count > 1 then p_old.skipped_last end, nullif(t.count, 1))], p_fired_at => p_old.fired_at)
  from jsonb_to_record(coalesce(nullif(p_cover -> 'tail', 'null'), '{}')) t(id uuid, nominal bigint, due bigint, count int)
  where t.id is not null;
end $$;
