-- Creates jobs that have something to come. Each entry has the columns of carillon.jobs and, beside them, `nominal` and
-- `due` in milliseconds, which one that follows another job does not have. A job whose key is taken already is left out; the caller looks
-- again and changes that one. So is one that would follow itself, see closes_circle.
-- p_actor: who asks for them. All are one tenant's: see take_job_room for its quota.
-- Locks: see take_job_room, closes_circle; its own rows, by key.
create or replace function carillon.create_jobs(p_jobs jsonb, p_actor text) returns setof uuid
language plpgsql volatile
as $$
declare
  v_circular uuid[];
begin
  perform carillon.take_job_room(p_jobs #>> '{0,tenant}', jsonb_array_length(p_jobs));
  if jsonb_path_exists(p_jobs, '$[*] ? (@.after_job != null)') then
    v_circular := array(
      select j.job_id from (select * from jsonb_populate_recordset(null::carillon.jobs, p_jobs) j order by j.tenant) j
      where carillon.closes_circle(j.job_id, j.tenant, j.key, j.after_job));
  end if;
  return query
  with born as (
    insert into carillon.jobs (job_id, version, tenant, name, type, run_at, delay_ms, cron, "interval", timezone, dst_gap,
      dst_overlap, anchor, start_at, end_at, max_fires, jitter_sec, misfire, misfire_after_sec, max_catch_up, grace_sec,
      start_within_sec, deadline_sec, overlap, pool, lane, handler, payload, policy, labels, key, managed_by,
      created_at, updated_at, run_local, day_fields, after_job, after_on, defined_by)
    select j.job_id, 1, j.tenant, j.name, j.type, j.run_at, j.delay_ms, j.cron, j."interval", j.timezone, j.dst_gap,
      j.dst_overlap, j.anchor, j.start_at, j.end_at, j.max_fires, j.jitter_sec, j.misfire, j.misfire_after_sec,
      j.max_catch_up, j.grace_sec, j.start_within_sec, j.deadline_sec, j.overlap, j.pool, j.lane, j.handler, j.payload,
      j.policy, j.labels, j.key, j.managed_by, coalesce(j.created_at, clock_timestamp()),
      coalesce(j.created_at, clock_timestamp()), j.run_local, coalesce(j.day_fields, 'EITHER'), j.after_job, j.after_on, p_actor
    from jsonb_populate_recordset(null::carillon.jobs, p_jobs) j
    where v_circular is null or j.job_id <> all (v_circular)
    order by j.tenant, j.key, j.job_id   -- two batches with the same keys meet in one order
    on conflict (tenant, key) where key is not null and state <> 'DELETED' do nothing
    returning job_id, tenant, after_job, after_on
  ), following as (
    insert into carillon.followers (job_id, tenant, followed, on_end)
    select b.job_id, b.tenant, b.after_job, b.after_on from born b where b.after_job is not null)
  insert into carillon.schedules (job_id, shard, version, nominal, due)
  select b.job_id, carillon.shard_of(b.job_id, n.shard_count), 1, carillon.at(i.nominal), carillon.at(i.due)
  from born b cross join carillon.installation n
  join jsonb_to_recordset(p_jobs) i(job_id uuid, nominal bigint, due bigint) on i.job_id = b.job_id
  returning job_id;
end $$;

-- Whether a job that is about to follow another one would, by way of others, follow itself: for ever. The caller has looked, too, and
-- could not see what is changed at the same time. From here on nobody else of the tenant changes what follows what.
-- Locks: an advisory lock of the tenant, until the end of the transaction. Indexes: followers_pkey, jobs_by_id, jobs_key.
create or replace function carillon.closes_circle(p_id uuid, p_tenant text, p_key text, p_after text) returns boolean
language plpgsql volatile
as $$
declare
  v_named text := p_after;
  v_next uuid;
begin
  if p_after is null then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('carillon.followers ' || p_tenant, 0));
  -- A longer chain is not looked through.
  for i in 1..100 loop
    if v_named is null then
      return false;
    elsif v_named in (p_id::text, p_key) then
      return true;
    end if;
    v_next := coalesce(
      (select j.job_id from carillon.jobs j where j.tenant = p_tenant
        and j.job_id = case when v_named ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then v_named::uuid end),
      (select j.job_id from carillon.jobs j where j.tenant = p_tenant and j.key = v_named and j.state <> 'DELETED'));
    v_named := (select f.followed from carillon.followers f where f.job_id = v_next);
  end loop;
  return false;
end $$;
