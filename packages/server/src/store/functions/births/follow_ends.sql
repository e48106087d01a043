-- FOLLOW: what runs after these executions, which have just ended, in the transaction that ends them. A row of `submissions` for each
-- job that follows theirs; fire_followers makes executions of them. What was SKIPPED did not run, and a deleted job is over, so nothing
-- follows these. An execution that ends again after a replay is followed again. Answers when they are due; null: nothing follows.
--
-- The id is computed, like all others: its time is that of the end, its hash tells apart followers, executions, and ends of one of them.
-- Locks: its own rows. Indexes: executions_pkey, jobs_by_id, followers_followed.
create or replace function carillon.follow_ends(p_ids uuid[], p_now timestamptz) returns timestamptz
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_at timestamptz := date_trunc('milliseconds', p_now);
  v_time text := lpad(to_hex(carillon.ms(p_now)), 12, '0');
  v_range record := carillon.range_of(p_ids);
begin
  insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at, payload, traceparent, job_id, after_id, after_job)
  select (v_time || '8' || substr(h.hash, 1, 3) || '8' || substr(h.hash, 4, 15))::uuid, carillon.shard_of(j.job_id, n.shard_count), j.tenant,
    j.pool, j.lane, j.handler, v_at, concat('{"executionId":"', e.execution_id, '","jobId":"', e.job_id, '","key":',
      coalesce(to_json(k.key)::text, 'null'), ',"scheduledFor":"',
      to_char(e.scheduled_for at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '","state":"', e.state, '","result":',
      coalesce(e.result, 'null'), ',"error":', coalesce(e.error::text, 'null'), '}'), e.traceparent, j.job_id, e.execution_id, f.followed
  from unnest(p_ids) i(id)
  cross join carillon.installation n
  cross join lateral (
    select * from carillon.executions x where x.execution_id = i.id and x.execution_id between v_range.low and v_range.high
      and exists (select from carillon.followers t where t.tenant = x.tenant) offset 0) e
  left join lateral (select y.key, y.state from carillon.jobs y where y.job_id = e.job_id offset 0) k on true
  cross join lateral (
    select x.job_id, x.followed from carillon.followers x
    where x.tenant = e.tenant and x.followed in (e.job_id::text, k.key)
      and x.on_end in ('ENDED', case e.state when 'SUCCEEDED' then 'SUCCEEDED' else 'FAILED' end) offset 0) f
  cross join lateral (select * from carillon.jobs y where y.job_id = f.job_id offset 0) j
  cross join lateral (select md5(concat(f.job_id, ':', e.execution_id, ':', e.fence, ':', jsonb_array_length(e.history))) hash) h
  where e.state <> 'SKIPPED' and k.state is distinct from 'DELETED'
  on conflict (execution_id) do nothing;   -- there is none; but for what follows, no end may fail
  return case when found then v_at end;
end $$;
