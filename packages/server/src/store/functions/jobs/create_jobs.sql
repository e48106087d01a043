-- Creates jobs that have something to come. Each entry has the columns of carillon.jobs and, beside them, `nominal` and
-- `due` in milliseconds. A job whose key is taken already is left out; the caller looks again and changes that one.
-- p_actor: who asks for them.
-- Locks: its own rows, by key.
create or replace function carillon.create_jobs(p_jobs jsonb, p_actor text) returns setof uuid
language plpgsql volatile
as $$
begin
  return query
  with born as (
    insert into carillon.jobs (job_id, version, tenant, name, type, run_at, delay_ms, cron, "interval", timezone, dst_gap,
      dst_overlap, anchor, start_at, end_at, max_fires, jitter_sec, misfire, misfire_after_sec, max_catch_up, grace_sec,
      start_within_sec, deadline_sec, overlap, pool, lane, handler, payload, policy, labels, key, managed_by,
      created_at, updated_at, run_local, day_fields, defined_by)
    select j.job_id, 1, j.tenant, j.name, j.type, j.run_at, j.delay_ms, j.cron, j."interval", j.timezone, j.dst_gap,
      j.dst_overlap, j.anchor, j.start_at, j.end_at, j.max_fires, j.jitter_sec, j.misfire, j.misfire_after_sec,
      j.max_catch_up, j.grace_sec, j.start_within_sec, j.deadline_sec, j.overlap, j.pool, j.lane, j.handler, j.payload,
      j.policy, j.labels, j.key, j.managed_by, coalesce(j.created_at, clock_timestamp()),
      coalesce(j.created_at, clock_timestamp()), j.run_local, coalesce(j.day_fields, 'EITHER'), p_actor
    from jsonb_populate_recordset(null::carillon.jobs, p_jobs) j
    order by j.tenant, j.key, j.job_id   -- two batches with the same keys meet in one order
    on conflict (tenant, key) where key is not null and state <> 'DELETED' do nothing
    returning job_id)
  insert into carillon.schedules (job_id, shard, version, nominal, due)
  select b.job_id, carillon.shard_of(b.job_id, n.shard_count), 1, carillon.at(i.nominal), carillon.at(i.due)
  from born b cross join carillon.installation n
  join jsonb_to_recordset(p_jobs) i(job_id uuid, nominal bigint, due bigint) on i.job_id = b.job_id
  returning job_id;
end $$;
