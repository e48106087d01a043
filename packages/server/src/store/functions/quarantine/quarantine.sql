-- The quarantine: rows whose own data makes a call fail, kept with the error. One way in, two ways out. See docs/decisions/0032-quarantine.md.

-- The columns that name a row, as a list. Null: no row of that table is ever set aside.
create or replace function carillon.quarantine_key(p_source text) returns text[]
language sql immutable
return case p_source
  when 'ready' then array['pool', 'lane', 'tag', 'execution_id']
  when 'deadlines' then array['execution_id', 'kind']
  when 'schedules' then array['job_id']
  when 'operations' then array['operation_id']
  when 'events' then array['event_id']
  when 'submissions' then array['execution_id']
  when 'retries' then array['execution_id']
  when 'waiting' then array['execution_id'] end;

-- SET ASIDE: moves rows out of their tables. p_keys: the columns of the primary key; of what is held, in `leases`, execution_id and
-- fence. p_ids: the execution each is about. Answers, in the order of the input: SET_ASIDE; GONE (the row is not there any more); SPARED: no
-- partition holds the execution's id, though by its time one should, so the partitions are at fault and not the row.
--
-- Two kinds of rows stay where they are. A schedule is its job's lock: it loses its due time, and the job reads as PAUSED, by the
-- same function that pauses it for a person; if its job is missing it leaves like the others. An operation ends as FAILED. What is
-- held loses its place in its lease, which stays for the others.
-- Locks: the row; of a schedule see change_job; quarantine.
create or replace function carillon.set_aside(
  p_call text, p_sources text[], p_keys jsonb[], p_ids uuid[], p_codes text[], p_messages text[],
  p_now timestamptz default null)
returns text[]
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_verdicts text[] := array_fill('GONE'::text, array[cardinality(p_sources)]);
  v_floor uuid := (select n.floor_id from carillon.installation n);
  v_end uuid := carillon.first_id(carillon.ms(v_now) + 2 * 86400000);
  v_source text;
  v_left int[];    -- of one table, the entries to move; then those that were there
  v_row jsonb;
begin
  for i in 1..cardinality(p_sources) loop
    if p_codes[i] = 'NO_PARTITION' and p_ids[i] >= v_floor and p_ids[i] < v_end then
      v_verdicts[i] := 'SPARED';
      continue;
    end if;
    v_row := null;
    if p_sources[i] = 'operations' then
      update carillon.operations o set state = 'FAILED', error = 'its data cannot be processed; see the quarantine',
        finished_at = v_now, updated_at = v_now
      where o.operation_id = (p_keys[i] ->> 'operation_id')::uuid and o.state = 'RUNNING' returning to_jsonb(o) into v_row;
    elsif p_sources[i] = 'schedules'
        and carillon.pause_schedule((p_keys[i] ->> 'job_id')::uuid, p_codes[i], p_messages[i], v_now) then
      select to_jsonb(s) || jsonb_build_object('tenant', j.tenant) into v_row
      from carillon.schedules s join carillon.jobs j on j.job_id = s.job_id where s.job_id = (p_keys[i] ->> 'job_id')::uuid;
    end if;
    if v_row is not null then
      insert into carillon.quarantine (source, key, tenant, job_id, call, code, message, at)
      values (p_sources[i], p_keys[i], left(v_row ->> 'tenant', 200), (v_row ->> 'job_id')::uuid, p_call, p_codes[i],
        left(p_messages[i], 2000), v_now);
      v_verdicts[i] := 'SET_ASIDE';
    elsif p_sources[i] = 'leases' then
      v_row := carillon.take_out_of_lease((p_keys[i] ->> 'execution_id')::uuid, (p_keys[i] ->> 'fence')::bigint);
      if v_row is not null then
        insert into carillon.quarantine (source, key, tenant, execution_id, job_id, call, code, message, at, content)
        select 'leases', p_keys[i], e.tenant, x.id, e.job_id, p_call, p_codes[i], left(p_messages[i], 2000), v_now, v_row
        from (select (p_keys[i] ->> 'execution_id')::uuid id) x left join carillon.executions e on e.execution_id = x.id;
        v_verdicts[i] := 'SET_ASIDE';
      end if;
    end if;
  end loop;

  -- The others in one statement for each table: [m] 1,000 rows take 30 to 40 ms of CPU instead of 200 to 240.
  for v_source in select distinct u from unnest(p_sources) u where u not in ('operations', 'leases') loop
    v_left := array(select n from unnest(p_sources, v_verdicts) with ordinality u(source, verdict, n)
                    where u.source = v_source and u.verdict = 'GONE');
    execute format(
      'with gone as (
         delete from carillon.%1$I t using unnest($1) n
           cross join lateral jsonb_populate_record(null::carillon.%1$I, ($2::jsonb[])[n]) k
         where %2$s returning n, to_jsonb(t) content
       ), kept as (
         insert into carillon.quarantine (source, key, tenant, execution_id, job_id, call, code, message, at, content)
         select %1$L, ($2::jsonb[])[g.n], left(coalesce(g.content ->> ''tenant'', e.tenant), 200),
           (g.content ->> ''execution_id'')::uuid, coalesce((g.content ->> ''job_id'')::uuid, e.job_id), $3, ($4::text[])[g.n],
           left(($5::text[])[g.n], 2000), $6, g.content
         from gone g left join lateral (
           select x.tenant, x.job_id from carillon.executions x
           where x.execution_id = (g.content ->> ''execution_id'')::uuid offset 0) e on true)
       select array_agg(distinct g.n) from gone g', v_source,
      (select string_agg(format('t.%1$I = k.%1$I', c), ' and ') from unnest(carillon.quarantine_key(v_source)) c))
    into v_left using v_left, p_keys, p_call, p_codes, p_messages, v_now;
    perform carillon.look_behind_quarantined(v_now) where v_source = 'waiting';
    for i in 1..coalesce(cardinality(v_left), 0) loop
      v_verdicts[v_left[i]] := 'SET_ASIDE';
    end loop;
  end loop;
  return v_verdicts;
end $$;

-- Answers the lease with nothing but this execution in it; null: it is not in it. Locks: the lease, its note.
create or replace function carillon.take_out_of_lease(p_id uuid, p_fence bigint) returns jsonb
language plpgsql volatile
as $$
declare
  v_place int := (p_fence & 1023) + 1;
  v_lease carillon.leases;
  v_note carillon.lease_notes;
begin
  select * into v_lease from carillon.leases l where l.lease_id = p_fence >> 10 and l.ids[v_place] = p_id for update;
  if not found then
    return null;
  elsif v_lease.open > 1 then
    update carillon.leases l set ids[v_place] = null, open = l.open - 1 where l.lease_id = v_lease.lease_id;
  else
    delete from carillon.leases l where l.lease_id = v_lease.lease_id;
  end if;
  delete from carillon.lease_notes n where n.execution_id = p_id and n.fence = p_fence returning n.* into v_note;
  v_lease.ids := array_fill(null::uuid, array[v_place - 1]) || p_id;
  v_lease.open := 1;
  v_lease.noted := v_note.execution_id is not null;
  return to_jsonb(v_lease) || jsonb_build_object('note', to_jsonb(v_note));
end $$;

-- The way back. False: something stands in its place. Locks: the lease.
create or replace function carillon.put_into_lease(p_id uuid, p_fence bigint, p_content jsonb) returns boolean
language plpgsql volatile
as $$
declare
  v_place int := (p_fence & 1023) + 1;
begin
  insert into carillon.leases as l select * from jsonb_populate_record(null::carillon.leases, p_content)
  on conflict (lease_id) do update set ids[v_place] = p_id, open = l.open + 1, noted = l.noted or excluded.noted
  where l.ids[v_place] is null;
  if not found then
    return false;
  end if;
  insert into carillon.lease_notes select * from jsonb_populate_record(null::carillon.lease_notes, p_content -> 'note') n
  where n.execution_id is not null on conflict do nothing;
  return true;
end $$;

-- A schedule that cannot be fired: its job is paused. False: there is no such job, or the row cannot even be changed. True also
-- for one that has no due time. If the job cannot be paused as a person does it, because its own row is bad, its schedule loses
-- its due time and that is all.
create or replace function carillon.pause_schedule(p_job uuid, p_code text, p_message text, p_now timestamptz) returns boolean
language plpgsql volatile
as $$
declare
  v_schedule carillon.schedules;
  v_job carillon.jobs;
begin
  select s.* into v_schedule from carillon.schedules s where s.job_id = p_job for update;
  select j.* into v_job from carillon.jobs j where j.job_id = p_job;
  if v_schedule.job_id is null or v_job.job_id is null then
    return false;
  end if;
  begin
    -- What change_job compares: the job's version, whole milliseconds; and of a job that is not ACTIVE nothing may be due.
    update carillon.schedules s set version = v_job.version, nominal = carillon.at(carillon.ms(s.nominal)),
      due = case when v_job.state = 'ACTIVE' then carillon.at(carillon.ms(s.due)) end
    where s.job_id = p_job;
    if v_job.state = 'ACTIVE' and not carillon.change_job(p_job, v_job.version, v_job.state, carillon.ms(v_schedule.due), null,
        'PAUSED', carillon.ms(v_schedule.nominal), null, null, null, jsonb_build_object('actor', 'carillon', 'action', 'job.paused',
          'detail', jsonb_build_object('reason', 'QUARANTINED', 'code', p_code, 'message', left(p_message, 500))), p_now) then
      raise exception 'carillon: the job % cannot be paused', p_job;
    end if;
  exception when others then
    begin
      update carillon.schedules s set due = null where s.job_id = p_job;
    exception when others then
      return false;
    end;
  end;
  return true;
end $$;

-- Puts a row back into its table. RELEASED; MISSING; KEPT: a row with its key is there already; RESUME: it is a schedule, and
-- the entry leaves when its job is resumed. What makes the insert fail is raised.
-- Locks: quarantine, then the table of the row.
create or replace function carillon.release_quarantined(p_id bigint, p_actor text, p_now timestamptz default null)
returns text
language plpgsql volatile
as $$
declare
  v_entry carillon.quarantine;
  v_count int;
begin
  select * into v_entry from carillon.quarantine q where q.quarantine_id = p_id for update;
  if not found then
    return 'MISSING';
  end if;
  if v_entry.source = 'operations' then
    update carillon.operations o set state = 'RUNNING', error = null, finished_at = null, next_at = coalesce(p_now, clock_timestamp())
    where o.operation_id = (v_entry.key ->> 'operation_id')::uuid and o.state = 'FAILED';
    perform carillon.leave_quarantine(array[p_id], p_actor, 'quarantine.released', p_now);
    return 'RELEASED';
  elsif v_entry.content is null then
    return 'RESUME';
  elsif v_entry.source = 'leases' then
    if not carillon.put_into_lease(v_entry.execution_id, (v_entry.key ->> 'fence')::bigint, v_entry.content) then
      return 'KEPT';
    end if;
    perform carillon.leave_quarantine(array[p_id], p_actor, 'quarantine.released', p_now);
    return 'RELEASED';
  end if;
  execute format('insert into carillon.%1$I (%2$s) select %2$s from jsonb_populate_record(null::carillon.%1$I, $1)
    on conflict do nothing', v_entry.source, (
      select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
      where a.attrelid = format('carillon.%I', v_entry.source)::regclass and a.attnum > 0 and not a.attisdropped
        and a.attidentity = '' and v_entry.content ? a.attname::text))
  using v_entry.content;
  get diagnostics v_count = row_count;
  if v_count = 0 then
    return 'KEPT';
  end if;
  perform carillon.leave_quarantine(array[p_id], p_actor, 'quarantine.released', p_now);
  return 'RELEASED';
end $$;

-- Discards a row. Its execution, unless it is in a queue besides, ends as DEAD with the reason QUARANTINED, by the function
-- that ends whatever has not started; a submission that was never in the ledger is written there as DEAD, if the ledger can take
-- it. DISCARDED, or MISSING.
-- Locks: as end_pending, quarantine.
create or replace function carillon.discard_quarantined(p_id bigint, p_actor text, p_now timestamptz default null)
returns table (verdict text, ended uuid)
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_entry carillon.quarantine;
  v_row carillon.submissions;
  v_birth carillon.birth;
begin
  verdict := 'DISCARDED';
  select * into v_entry from carillon.quarantine q where q.quarantine_id = p_id;
  if not found then
    verdict := 'MISSING';
    return next;
    return;
  end if;
  if v_entry.source = 'submissions' then
    v_row := jsonb_populate_record(null::carillon.submissions, v_entry.content);
    begin
      v_birth := carillon.recorded(v_row.execution_id, v_row.execution_id, null, v_row.tenant, v_row.pool, v_row.lane, v_row.handler,
        v_row.run_at, v_row.run_at, v_row.labels, 'DEAD', 'QUARANTINED', null, null);
      v_birth.name := v_row.name;
      v_birth.payload := v_row.payload;
      v_birth.traceparent := v_row.traceparent;
      v_birth.history := jsonb_build_array(jsonb_build_object('at', carillon.ms(v_now), 'to', 'DEAD', 'actor', p_actor,
        'reason', 'QUARANTINED'));
      ended := (carillon.create_executions(v_now, 'SUBMIT', array[v_birth], p_actor => p_actor))[1];
    exception when others then
      ended := null;   -- the ledger cannot take it: the audit is what is left of it
    end;
  elsif v_entry.execution_id is not null and not carillon.stands_elsewhere(v_entry.execution_id) then
    ended := (carillon.end_pending(array[v_entry.execution_id], array['DEAD'], array['QUARANTINED'], p_actor, v_now))[1];
  end if;
  perform carillon.leave_quarantine(array[p_id], p_actor, 'quarantine.discarded', v_now);
  return next;
end $$;

-- True: the execution has a place in a queue, so what is in quarantine under its id was one too many.
create or replace function carillon.stands_elsewhere(p_id uuid) returns boolean
language sql stable
return exists (select from carillon.executions e where e.execution_id = p_id
    and carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is not null)
  or exists (select from carillon.retries t where t.execution_id = p_id)
  or exists (select from carillon.waiting w where w.execution_id = p_id) or exists (select from carillon.blocked b where b.execution_id = p_id)
  or exists (select from carillon.executions e join carillon.ready q on q.pool = e.pool and q.lane = e.lane and q.tag = e.tag
    and q.execution_id = e.execution_id where e.execution_id = p_id);

-- The entry goes, and what it was stays in the audit.
create or replace function carillon.leave_quarantine(p_ids bigint[], p_actor text, p_action text, p_now timestamptz) returns void
language sql volatile
as $$
  with gone as (
    delete from carillon.quarantine q where q.quarantine_id = any (p_ids) returning q.*)
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  select coalesce(p_now, clock_timestamp()), g.tenant, p_actor, p_action,
    coalesce(g.execution_id::text, g.job_id::text, g.source), jsonb_build_object('quarantineId', g.quarantine_id,
      'source', g.source, 'key', g.key, 'code', g.code, 'message', g.message)
  from gone g
$$;

-- Rows that are due and that no duty will ever move: p_late ago or more. Reads what is overdue by index, at most p_limit of each
-- kind, and all of `waiting`, up to p_limit rows found. Reads only.
create or replace function carillon.find_stuck(p_late interval, p_limit int, p_now timestamptz default null)
returns table (source text, key jsonb, code text, message text)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_until timestamptz := coalesce(p_now, clock_timestamp()) - p_late;
  v_floor uuid := (select n.floor_id from carillon.installation n);
begin
  return query
  select 'schedules', jsonb_build_object('job_id', s.job_id), 'NO_JOB', case when j.job_id is null then 'there is no such job'
    else 'its version ' || s.version || ' is not the job''s, ' || j.version end
  from (select * from carillon.schedules x where x.due < v_until order by x.due limit p_limit) s
  left join carillon.jobs j on j.job_id = s.job_id
  where j.version is distinct from s.version;
  return query
  select 'submissions', jsonb_build_object('execution_id', u.execution_id), 'TOO_OLD',
    'its id is older than the history that is kept'
  from (select * from carillon.submissions x where x.run_at < v_until order by x.run_at limit p_limit) u
  where u.execution_id < v_floor;
  return query
  select 'waiting', jsonb_build_object('execution_id', w.execution_id), 'NO_LEDGER_ROW', 'the ledger has no such execution'
  from carillon.waiting w
  where not exists (select from carillon.executions e where e.execution_id = w.execution_id) limit p_limit;
  return query
  select 'leases', jsonb_build_object('execution_id', u.id, 'fence', (l.lease_id << 10) + u.place - 1), 'NO_LEDGER_ROW',
    'the ledger has no such execution'
  from carillon.leases l cross join lateral unnest(l.ids) with ordinality u(id, place)
  where l.leased_at < v_until and u.id is not null
    and not exists (select from carillon.executions e where e.execution_id = u.id) limit p_limit;
  -- Where the tables have no rule against it: see bind_shards.
  return query
  select 'submissions', jsonb_build_object('execution_id', u.execution_id), 'NO_SHARD', 'there is no shard ' || u.shard
  from (select * from carillon.submissions x where x.run_at < v_until order by x.run_at limit p_limit) u
  where not exists (select from carillon.shards s where s.shard = u.shard);
  return query
  select 'retries', jsonb_build_object('execution_id', t.execution_id), 'NO_SHARD', 'there is no shard ' || t.shard
  from (select * from carillon.retries x where x.due < v_until order by x.due limit p_limit) t
  where not exists (select from carillon.shards s where s.shard = t.shard);
end $$;

-- Looked through before a batch that failed is bisected: the mistakes that can be told without trying, all in one statement.
-- Of the first rows of a pool's lanes, those that cannot be leased. Reads only. Indexes: ready_pkey, executions_pkey.
create or replace function carillon.find_unusable_ready(p_pool text, p_limit int)
returns table (source text, key jsonb, code text, message text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
  select 'ready', jsonb_build_object('pool', q.pool, 'lane', q.lane, 'tag', q.tag, 'execution_id', q.execution_id),
    case when e.execution_id is null then 'NO_LEDGER_ROW' when e.state is not null then 'HAS_ENDED'
      when r.execution_id is not null then 'RUNS_ALREADY' when q.nth > 1 then 'READY_TWICE'
      when (e.pool, e.lane, e.tag) <> (q.pool, q.lane, q.tag) then 'READY_ELSEWHERE' else 'POLICY' end,
    case when e.execution_id is null then 'the ledger has no such execution' when e.state is not null then 'the execution has ended'
      when r.execution_id is not null then 'the execution runs already' when q.nth > 1 then 'the execution is ready twice'
      when (e.pool, e.lane, e.tag) <> (q.pool, q.lane, q.tag) then 'the ledger has the execution in another place of the queue'
      else 'its policy cannot be read: ' || left(coalesce(e.policy, j.policy, v.policy)::text, 500) end
  from (
    select f.*, row_number() over (partition by f.execution_id order by f.lane, f.tag) nth
    from generate_series(0, 3) l(lane) cross join lateral (
      select * from carillon.ready x where x.pool = p_pool and x.lane = l.lane order by x.tag, x.execution_id limit p_limit) f) q
  left join lateral (select * from carillon.executions y where y.execution_id = q.execution_id offset 0) e on true
  left join lateral carillon.held(e) r on true
  left join lateral (select * from carillon.jobs y where y.job_id = e.job_id and y.version = e.job_version offset 0) j on true
  left join lateral (
    select * from carillon.job_versions y where y.job_id = e.job_id and y.version = e.job_version offset 0) v on true
  where e.execution_id is null or e.state is not null or r.execution_id is not null or q.nth > 1
    or (e.pool, e.lane, e.tag) <> (q.pool, q.lane, q.tag) or not carillon.is_usable_policy(coalesce(e.policy, j.policy, v.policy));
  -- Where the policy is the job's, every execution to come would be bad too.
  return query
  select distinct 'schedules', jsonb_build_object('job_id', j.job_id), 'POLICY',
    'its policy cannot be read: ' || left(j.policy::text, 500)
  from generate_series(0, 3) l(lane) cross join lateral (
    select * from carillon.ready x where x.pool = p_pool and x.lane = l.lane order by x.tag, x.execution_id limit p_limit) q
  cross join lateral (select * from carillon.executions y where y.execution_id = q.execution_id offset 0) e
  cross join lateral (select * from carillon.jobs y where y.job_id = e.job_id and y.version = e.job_version offset 0) j
  where e.policy is null and j.state = 'ACTIVE' and not carillon.is_usable_policy(j.policy);
end $$;

-- Of executions that are being reported, those that wait for a retry besides: they could not come back.
create or replace function carillon.find_unusable_held(p_ids uuid[], p_fences bigint[])
returns table (source text, key jsonb, code text, message text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
  select 'retries', jsonb_build_object('execution_id', r.execution_id), 'RUNS_ALREADY', 'the execution runs already'
  from unnest(p_ids, p_fences) i(execution_id, fence)
  cross join lateral (
    select * from carillon.read_held(array[i.execution_id], array[i.fence])) r
  where exists (select from carillon.retries t where t.execution_id = i.execution_id);
end $$;

-- Of submissions that are due, those that cannot be fired: the id of one that is due lies in the past, and within what is kept.
create or replace function carillon.find_unusable_submissions(p_ids uuid[], p_now timestamptz default null)
returns table (source text, key jsonb, code text, message text)
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_end uuid := carillon.first_id(carillon.ms(coalesce(p_now, clock_timestamp())) + 86400000);
begin
  return query
  select 'submissions', jsonb_build_object('execution_id', u.execution_id),
    case when u.execution_id >= v_end then 'NO_PARTITION' else 'POLICY' end,
    case when u.execution_id >= v_end then 'no partition of the ledger holds its id'
      else 'its policy cannot be read: ' || left(u.policy::text, 500) end
  from unnest(p_ids) i
  cross join lateral (select * from carillon.submissions s where s.execution_id = i offset 0) u
  where u.execution_id >= v_end or not carillon.is_usable_policy(u.policy);
end $$;
