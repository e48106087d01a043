-- Enqueues in the caller's own transaction, from any language: the execution exists if and only if that transaction
-- commits. One row, no shared lock: a caller that stays open delays nobody. The shard's leader fires it afterwards.
--
--   select carillon.enqueue('send-email', '{"to": "a@b.c"}');
--   select carillon.enqueue('send-email', json_build_object('to', email), run_at => now() + interval '1 hour') from …;
--
-- `policy` takes timeoutSec, retryPolicy, deadlineSec, startWithinSec, heartbeatTimeoutSec, delivery, cancelGraceSec.
create or replace function carillon.enqueue(
  handler text, payload json default null, pool text default 'default', tenant text default 'default',
  priority text default 'NORMAL', run_at timestamptz default null, policy jsonb default null,
  labels jsonb default null, traceparent text default null, name text default null)
returns uuid
language plpgsql volatile
as $$
#variable_conflict use_variable
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_at timestamptz := date_trunc('milliseconds', greatest(coalesce(run_at, v_now), v_now));
  v_lane smallint := array_position(array['CRITICAL', 'HIGH', 'NORMAL', 'LOW'], priority) - 1;
  v_random text := replace(gen_random_uuid()::text, '-', '');
  v_id uuid;
  v_shards smallint;
begin
  if handler is null or handler = '' or length(handler) > 200 then
    raise exception 'carillon.enqueue: handler must have 1 to 200 characters' using errcode = '22023';
  elsif v_lane is null then
    raise exception 'carillon.enqueue: priority % is not one of CRITICAL, HIGH, NORMAL, LOW', priority using errcode = '22023';
  elsif octet_length(payload::text) > 262144 then
    raise exception 'carillon.enqueue: the payload is larger than 256 KiB' using errcode = '22023',
      hint = 'Store the data elsewhere and pass a reference to it.';
  elsif v_at >= timestamptz '10000-01-01 00:00:00+00' then
    raise exception 'carillon.enqueue: run_at must be before the year 10000' using errcode = '22023';
  elsif tenant is null or tenant = '' then
    raise exception 'carillon.enqueue: tenant must not be empty' using errcode = '22023';
  elsif not exists (select from carillon.pools p where p.pool = enqueue.pool) then
    raise exception 'carillon.enqueue: pool % does not exist', pool using errcode = '22023',
      hint = 'Start a worker that serves it, or use pool ''default''.';
  end if;
  select n.shard_count into v_shards from carillon.installation n;
  v_id := (lpad(to_hex(carillon.ms(v_at)), 12, '0') || '8' || substr(v_random, 14, 19))::uuid;
  insert into carillon.submissions (execution_id, shard, tenant, name, pool, lane, handler, run_at, payload, policy, labels,
    traceparent)
  values (v_id, carillon.shard_of(v_id, v_shards), tenant, name, pool, v_lane, handler, v_at, payload::text, policy, labels,
    traceparent);
  return v_id;
end $$;
