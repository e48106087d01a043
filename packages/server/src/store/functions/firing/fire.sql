-- FIRE: turns due occurrences into ledger rows and ready rows and moves their schedules on, in one transaction.
--
-- Called by the leader of the shards. The epoch is checked under a FOR SHARE lock first and everything else is joined
-- to what that returned: a leader that was replaced, however long it slept, fires nothing. Version and due time are
-- compared, so nothing fires from an old definition; payload and policies are read here, not taken from memory.
--
-- p_*: one entry per schedule row to move; next due null: no further occurrence, and next nominal is where it ended. o_*:
-- the occurrences of those schedules; reason null: it fires, else it is recorded as SKIPPED (one row for `count` in a row).
-- A job whose live execution must be replaced but is being ended right now is left out of `moved`: it fires a moment later.
-- So is one of which an occurrence is not due yet: the clock of the leader that planned it is ahead of ours.
-- Locks: shards (share), schedules by id (SKIP LOCKED: an edit under way goes first), then see overlap_verdicts.
-- Indexes: schedules_pkey, jobs_by_id, executions_pkey. What was locked is moved by its place, not searched again.
-- Figures (test/integration/plans): 33.5 buffers a row and 15 besides at 1,000,000 jobs, 31.2 at 10,000; searched again by
-- id and with the jobs by their primary key 40.1 and 35.6. [m] 1,000 rows: median 54 to 56 ms of CPU, before 60 to 67;
-- the quickest 45 to 49, before 46 to 51. Of jobs that run once the quickest 40; 52 when their schedules were moved before they were
-- removed.
create or replace function carillon.fire(
  p_shards smallint[], p_epochs bigint[],
  p_jobs uuid[], p_versions int[], p_dues bigint[], p_next_nominals bigint[], p_next_dues bigint[], p_fires int[],
  o_jobs uuid[], o_ids uuid[], o_nominals bigint[], o_dues bigint[], o_tags bigint[],
  o_reasons text[], o_lasts bigint[], o_counts int[],
  p_now timestamptz default null)
returns table (moved uuid[], fired int, duplicates int, collisions uuid[], too_old uuid[], queued jsonb)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_shards smallint[];
  v_floor uuid;
  v_guarded boolean;
  v_verdicts text[];
  v_limited record;
  v_found text[];
  v_births carillon.birth[];
  v_created uuid[];
  v_all boolean;   -- spares the search of each id among all others in the ordinary case
  -- What is locked and stays: where each row lies, and its number in p_*. What leaves, because it was to run once: where it lies.
  v_places tid[];
  v_numbers bigint[];
  v_leaving tid[];
  v_early uuid[];
begin
  v_shards := carillon.hold_shards(p_shards, p_epochs);
  if cardinality(v_shards) = 0 then
    return;
  end if;
  v_early := array(select o.job_id from unnest(o_jobs, o_dues) o(job_id, due) where o.due > carillon.ms(v_now));

  select array_agg(x.job_id), array_agg(x.place) filter (where x.stays), array_agg(x.number) filter (where x.stays),
    array_agg(x.place) filter (where not x.stays), bool_or(x.overlap <> 'ALLOW')
  into moved, v_places, v_numbers, v_leaving, v_guarded from (
    select s.job_id, s.ctid place, i.number, j.overlap, i.next_due is not null or j.type in ('CRON', 'INTERVAL') stays
    from unnest(p_jobs, p_versions, p_dues, p_next_dues) with ordinality i(job_id, version, due, next_due, number)
    join carillon.schedules s on s.job_id = i.job_id
    join carillon.jobs j on j.job_id = i.job_id
    -- The due time in milliseconds, so that it is not looked for by index: of a thousand jobs due in the same instant
    -- each would be found among all others. [m] 361 ms of 429 for 1,000.
    where s.version = i.version and carillon.ms(s.due) = i.due and i.due <= carillon.ms(v_now) and s.shard = any (v_shards)
      and (v_early = '{}' or i.job_id <> all (v_early))
    order by s.job_id for update of s skip locked) x;
  if moved is null then
    return;
  end if;
  v_all := cardinality(moved) = cardinality(p_jobs);
  select floor_id into v_floor from carillon.installation;

  v_verdicts := array_fill('READY'::text, array[greatest(cardinality(o_ids), 1)]);
  if v_guarded then
    select array_agg(o.ordinal order by o.ordinal) ordinals, array_agg(o.job_id order by o.ordinal) jobs,
      array_agg(o.execution_id order by o.ordinal) ids, array_agg(j.overlap order by o.ordinal) policies into v_limited
    from unnest(o_jobs, o_ids, o_reasons) with ordinality o(job_id, execution_id, reason, ordinal)
    join carillon.jobs j on j.job_id = o.job_id
    where (v_all or o.job_id = any (moved)) and o.reason is null and j.overlap <> 'ALLOW' and o.execution_id >= v_floor
      and not exists (select from carillon.executions e where e.execution_id = o.execution_id);
    if v_limited.ids is not null then
      v_found := carillon.overlap_verdicts(v_limited.jobs, v_limited.ids, v_limited.policies, false, v_now);
      for i in 1..cardinality(v_found) loop
        v_verdicts[v_limited.ordinals[i]] := v_found[i];
        if v_found[i] = 'BUSY' then
          moved := array_remove(moved, v_limited.jobs[i]);
          v_all := false;
        end if;
      end loop;
    end if;
    if cardinality(moved) = 0 then
      return;
    end if;
    -- The verdicts have written schedule rows, which lie elsewhere since.
    select array_agg(x.place) filter (where x.stays), array_agg(x.number) filter (where x.stays),
      array_agg(x.place) filter (where not x.stays)
    into v_places, v_numbers, v_leaving from (
      select s.ctid place, i.number, i.next_due is not null or j.type in ('CRON', 'INTERVAL') stays
      from unnest(p_jobs, p_next_dues) with ordinality i(job_id, next_due, number)
      join carillon.schedules s on s.job_id = i.job_id
      join carillon.jobs j on j.job_id = i.job_id
      where v_all or i.job_id = any (moved)) x;
  end if;

  select array_agg(b::carillon.birth) into v_births from (
    select o.execution_id id, j.job_id, case when r.recurs then j.version end job_version, j.tenant,
      case when not r.recurs then j.name end "name", j.pool, j.lane, j.handler, o.tag, j.overlap <> 'ALLOW' guarded,
      carillon.at(o.nominal) scheduled_for, carillon.at(o.due) due_at,
      carillon.at(o.due) + j.start_within_sec * interval '1 second' expires_at, v_now + j.deadline_sec * interval '1 second' deadline_at,
      case when not r.recurs then j.payload end payload, case when not r.recurs then j.policy end policy, j.labels,
      null::text traceparent, e.state, coalesce(o.reason, case o.verdict when 'SKIP' then 'OVERLAP' when 'REPLACED' then 'REPLACED' end) reason,
      carillon.at(o.last) skipped_last, o.count skipped_count, null::jsonb history, e.key, j.policy rules,
      case when e.state is null then carillon.birth_text(o.execution_id, j.job_id, j.tenant, j.pool, j.handler, o.nominal, o.due,
        v_now + j.deadline_sec * interval '1 second', j.policy, j.payload, j.labels, null) end body
    from (
      select * from unnest(o_jobs, o_ids, o_nominals, o_dues, o_tags, o_reasons, o_lasts, o_counts, v_verdicts)
        o(job_id, execution_id, nominal, due, tag, reason, last, count, verdict)
      where (v_all or o.job_id = any (moved)) and o.execution_id >= v_floor order by o.execution_id) o
    join carillon.jobs j on j.job_id = o.job_id
    cross join lateral (select j.type in ('CRON', 'INTERVAL') recurs) r
    cross join lateral (
      select case when o.reason is not null or o.verdict = 'SKIP' then 'SKIPPED' when o.verdict = 'REPLACED' then 'CANCELLED' end state,
        case when o.reason is null and o.verdict = 'WAIT' then 'job:' || o.job_id end "key") e) b;
  fired := 0;
  if v_births is not null then
    v_created := carillon.create_executions(v_now, 'SCHEDULE', v_births);
    fired := cardinality(v_created);
    if fired < cardinality(v_births) then
      queued := carillon.hints_of(array(select b from unnest(v_births) b where b.id = any (v_created)));
    else
      queued := carillon.hints_of(v_births);
    end if;
  end if;

  duplicates := coalesce(cardinality(v_births), 0) - fired;
  if duplicates > 0 then
    select array_agg(o.execution_id) into collisions
    from unnest(o_jobs, o_ids, o_nominals) o(job_id, execution_id, nominal)
    join carillon.executions e on e.execution_id = o.execution_id
    where (v_all or o.job_id = any (moved)) and (e.job_id <> o.job_id or e.scheduled_for <> carillon.at(o.nominal));
  end if;
  select array_agg(o.execution_id) into too_old
  from unnest(o_jobs, o_ids) o(job_id, execution_id) where (v_all or o.job_id = any (moved)) and o.execution_id < v_floor;

  update carillon.schedules s
  set nominal = case when p_next_dues[m.number] is not null then carillon.at(p_next_nominals[m.number]) end,
    due = carillon.at(p_next_dues[m.number]), fires = s.fires + p_fires[m.number]
  from unnest(v_places, v_numbers) m(place, number) where s.ctid = m.place;

  -- Jobs without a further occurrence: a one-shot leaves, its definition is in the ledger now. What a recurring one was
  -- until now is kept.
  if p_next_dues is null or array_position(p_next_dues, null) is not null then
    with over as (
      select i.job_id, i.ended from unnest(p_jobs, p_next_dues, p_next_nominals) i(job_id, due, ended)
      where i.due is null and (v_all or i.job_id = any (moved))
    ), completed as (
      update carillon.jobs j set state = 'COMPLETED', updated_at = v_now from over
      where j.job_id = over.job_id and j.type in ('CRON', 'INTERVAL')
      returning j.job_id, j.tenant, j.name, j.key, j.version, over.ended
    ), in_spans as (
      insert into carillon.job_spans (job_id, version, state, since, until, computed_at, stood)
      select j.job_id, j.version, j.state, j.updated_at, v_now, v_now, carillon.at(c.ended)
      from completed c join carillon.jobs j on j.job_id = c.job_id
    ), gone as (
      delete from carillon.jobs j using over
      where j.job_id = over.job_id and j.type not in ('CRON', 'INTERVAL')
      returning j.job_id, j.tenant, j.name, j.key, j.version, over.ended
    )
    insert into carillon.events (at, tenant, type, job_id, detail)
    select v_now, j.tenant, 'job.completed', j.job_id, carillon.job_detail(j.name, j.key, 'COMPLETED', j.version)
    from (select * from completed union all select * from gone) j
    where exists (select from carillon.event_listeners h where h.until > v_now)
      and ((select carillon.hears_all()) or exists (
        select from carillon.event_listeners l where l.tenant = j.tenant and l.until > v_now));
    delete from carillon.schedules s where s.ctid = any (v_leaving);
  end if;
  return next;
end $$;
