-- Changes a job under its lock: its definition (p_job, a new version), its state, and the position of its schedule. The
-- caller computed the latter from what it read, and names that: p_version, p_seen_state, p_seen_due and p_seen_nominal; if a
-- fire or another change came between, or the job would follow itself, nothing is done and the caller looks again.
-- p_live: not null when the job begins to limit overlap. What is unfinished is then read here, under the job's lock: a
-- trigger moves no schedule, so the caller cannot know.
-- p_skipped: occurrences that this change removes, recorded as SKIPPED: {id, nominal, due, reason, last, count}.
-- p_audit: who did it, {actor, action, detail}; recorded in the same transaction.
-- p_computed_at: what the caller took for now; what the job was until then is kept in job_spans.
-- Locks: job_counts if the job goes or comes back, schedules, its own rows in job_spans and followers, executions by id (of p_live),
-- executions and endings for p_skipped.
-- After schedules, see closes_circle.
create or replace function carillon.change_job(
  p_id uuid, p_version int, p_seen_state text, p_seen_due bigint, p_job jsonb, p_state text, p_nominal bigint, p_due bigint,
  p_live uuid[], p_skipped jsonb, p_audit jsonb, p_now timestamptz default null, p_computed_at bigint default null,
  p_seen_nominal bigint default null)
returns boolean
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_new carillon.jobs;
  v_live uuid[];
begin
  -- Before the schedule, see the order of locks. If nothing is done after all, the count is an upper bound still.
  if p_seen_state not in ('ACTIVE', 'PAUSED') and p_state in ('ACTIVE', 'PAUSED') then
    perform carillon.take_job_room(j.tenant, 1) from carillon.jobs j where j.job_id = p_id;
  elsif p_seen_state in ('ACTIVE', 'PAUSED') and p_state not in ('ACTIVE', 'PAUSED') then
    perform carillon.forget_job_count(j.tenant) from carillon.jobs j where j.job_id = p_id;
  end if;
  perform from carillon.schedules s
  where s.job_id = p_id and s.version = p_version and s.due is not distinct from carillon.at(p_seen_due)
    -- A paused job has no due time: a concurrent change may already have recorded what this change is about to record.
    and (p_seen_nominal is null or s.nominal = carillon.at(p_seen_nominal)) for update;
  if not found then
    return false;
  end if;
  -- In a statement of its own, after the lock: a paused job that was deleted has the same version and due time.
  perform from carillon.jobs j where j.job_id = p_id and j.state = p_seen_state;
  if not found then
    return false;
  end if;

  if carillon.closes_circle(p_id, p_job ->> 'tenant', p_job ->> 'key', p_job ->> 'after_job') then
    return false;
  end if;

  insert into carillon.job_spans (job_id, version, state, since, until, computed_at, stood, stands)
  select p_id, j.version, j.state, j.updated_at, v_now, coalesce(carillon.at(p_computed_at), v_now), s.nominal,
    carillon.at(p_nominal)
  from carillon.jobs j join carillon.schedules s on s.job_id = j.job_id where j.job_id = p_id;
  if p_job is not null then
    -- By name: the two tables have the same columns, not in the same order.
    insert into carillon.job_versions
    select (jsonb_populate_record(null::carillon.job_versions, to_jsonb(j) || jsonb_build_object('replaced_at', v_now))).*
    from carillon.jobs j where j.job_id = p_id;
    v_new := jsonb_populate_record(null::carillon.jobs, p_job);
    update carillon.jobs j set version = j.version + 1, updated_at = v_now,
      name = v_new.name, type = v_new.type, run_at = v_new.run_at, delay_ms = v_new.delay_ms, cron = v_new.cron,
      "interval" = v_new."interval", timezone = v_new.timezone, dst_gap = v_new.dst_gap, dst_overlap = v_new.dst_overlap,
      anchor = v_new.anchor, start_at = v_new.start_at, end_at = v_new.end_at, max_fires = v_new.max_fires,
      jitter_sec = v_new.jitter_sec, misfire = v_new.misfire, misfire_after_sec = v_new.misfire_after_sec,
      max_catch_up = v_new.max_catch_up, grace_sec = v_new.grace_sec, start_within_sec = v_new.start_within_sec,
      deadline_sec = v_new.deadline_sec, overlap = v_new.overlap, pool = v_new.pool, lane = v_new.lane,
      handler = v_new.handler, payload = v_new.payload, policy = v_new.policy, labels = v_new.labels,
      key = v_new.key, managed_by = v_new.managed_by, run_local = v_new.run_local,
      day_fields = coalesce(v_new.day_fields, 'EITHER'), after_job = v_new.after_job, after_on = v_new.after_on,
      defined_at = v_now, defined_by = p_audit ->> 'actor'
    where j.job_id = p_id;
  end if;
  update carillon.jobs j set state = p_state, updated_at = v_now where j.job_id = p_id and j.state <> p_state;
  delete from carillon.followers f where f.job_id = p_id and (p_job is not null or p_state = 'DELETED');
  if p_job is not null and p_state <> 'DELETED' then
    insert into carillon.followers (job_id, tenant, followed, on_end)
    select j.job_id, j.tenant, j.after_job, j.after_on from carillon.jobs j where j.job_id = p_id and j.after_job is not null;
  end if;
  if p_live is not null then
    v_live := array(select e.execution_id from carillon.executions e
                    where e.job_id = p_id and e.job_id <> e.execution_id and e.state is null
                    order by e.execution_id for update);
    update carillon.executions e set guarded = true from unnest(v_live) l where e.execution_id = l;
  end if;
  update carillon.schedules s
  set version = j.version, nominal = carillon.at(p_nominal), due = carillon.at(p_due), live = coalesce(v_live, s.live)
  from carillon.jobs j where j.job_id = p_id and s.job_id = p_id;

  if p_skipped is not null then
    perform carillon.create_executions(v_now, 'SCHEDULE', array_agg(carillon.recorded(i.id, p_id, p_version, j.tenant, j.pool, j.lane,
      j.handler, carillon.at(i.nominal), carillon.at(i.due), j.labels, 'SKIPPED', i.reason, carillon.at(i.last), i.count)),
      p_actor => p_audit ->> 'actor')
    from (
      select * from jsonb_to_recordset(p_skipped) i(id uuid, nominal bigint, due bigint, reason text, last bigint, count int)
      where i.id >= (select n.floor_id from carillon.installation n) order by i.id) i
    join carillon.jobs j on j.job_id = p_id
    having count(*) > 0;
  end if;
  if p_job is not null or p_state = p_seen_state and p_due is distinct from p_seen_due then
    perform carillon.tell_jobs(array[p_id], 'job.updated', p_audit ->> 'actor', v_now);
  end if;
  if p_state <> p_seen_state and (p_state <> 'ACTIVE' or p_seen_state = 'PAUSED') then
    perform carillon.tell_jobs(array[p_id], 'job.' || case p_state when 'ACTIVE' then 'resumed' else lower(p_state) end,
      p_audit ->> 'actor', v_now);
  end if;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  select v_now, j.tenant, p_audit ->> 'actor', p_audit ->> 'action', p_id::text,
    jsonb_build_object('version', j.version) || coalesce(p_audit -> 'detail', '{}')
  from carillon.jobs j where j.job_id = p_id and p_audit is not null;
  return true;
end $$;
