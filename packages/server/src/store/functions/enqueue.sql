-- Enqueues in the caller's own transaction, from any language: the execution exists if and only if that transaction
-- commits. One row, no shared lock: a caller that stays open delays nobody. The shard's leader fires it afterwards.
--
--   select carillon.enqueue('send-email', '{"to": "a@b.c"}');
--   select carillon.enqueue('send-email', json_build_object('to', email), run_at => now() + interval '1 hour') from …;
--   select carillon.enqueue('send-email', to_jsonb(u)::json, priority => 'HIGH') from users u;
--
-- `policy` takes timeoutSec, retryPolicy, deadlineSec, startWithinSec, heartbeatTimeoutSec, delivery, cancelGraceSec.
-- Everything is checked here, in front of whoever wrote it: what is stored must fire.
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
  v_control text := '[\u0001-\u001f\u007f]';
  v_wrong text := case
    when handler is null or length(handler) not between 1 and 200 or handler ~ v_control then 'handler'
    when tenant is null or length(tenant) not between 1 and 200 or tenant ~ v_control then 'tenant'
    when length(name) not between 1 and 200 or name ~ v_control then 'name'
    when length(traceparent) not between 1 and 100 or traceparent ~ v_control then 'traceparent' end;
  v_id uuid;
  v_shards smallint;
begin
  if v_wrong is not null then
    raise exception 'carillon.enqueue: % must have 1 to % characters, and no control characters', v_wrong,
      case v_wrong when 'traceparent' then 100 else 200 end using errcode = '22023',
      hint = case v_wrong when 'handler' then 'Give the name a worker registered the handler with.'
                          else 'Leave it out, or put such data into the payload.' end;
  elsif v_lane is null then
    raise exception 'carillon.enqueue: priority % is not known', coalesce(priority, 'null') using errcode = '22023',
      hint = 'Use one of CRITICAL, HIGH, NORMAL, LOW.';
  elsif octet_length(payload::text) > 262144 then
    raise exception 'carillon.enqueue: the payload is larger than 256 KiB' using errcode = '22023',
      hint = 'Store the data elsewhere and pass a reference to it.';
  elsif v_at >= timestamptz '10000-01-01 00:00:00+00' then
    raise exception 'carillon.enqueue: run_at must be before the year 10000' using errcode = '22023',
      hint = 'Use an earlier time.';
  elsif not exists (select from carillon.pools p where p.pool = enqueue.pool
      and (p.tenant is null or p.tenant = enqueue.tenant)) then
    raise exception 'carillon.enqueue: pool % does not exist', coalesce(pool, 'null') using errcode = '22023',
      hint = 'Start a worker that serves it, or use the pool default.';
  elsif jsonb_typeof(labels) <> 'object' or labels @? 'strict $.* ? (@.type() != "string")' then
    raise exception 'carillon.enqueue: labels must be a JSON object of texts' using errcode = '22023',
      hint = 'Such as {"customer": "42"}.';
  elsif (select count(*) > 16 or bool_or(length(l.key) not between 1 and 63 or length(l.value) not between 1 and 255
      or l.key ~ v_control or l.value ~ v_control) from jsonb_each_text(labels) l) then
    raise exception 'carillon.enqueue: labels are too many, too long or have control characters' using errcode = '22023',
      hint = 'At most 16; names have 1 to 63 characters, texts 1 to 255.';
  end if;
  if policy is not null then
    perform carillon.check_policy(policy);
  end if;
  select n.shard_count into v_shards from carillon.installation n;
  v_id := (lpad(to_hex(carillon.ms(v_at)), 12, '0') || '8' || substr(v_random, 14, 19))::uuid;
  insert into carillon.submissions (execution_id, shard, tenant, name, pool, lane, handler, run_at, payload, policy, labels,
    traceparent)
  values (v_id, carillon.shard_of(v_id, v_shards), tenant, name, pool, v_lane, handler, v_at, payload::text, policy, labels,
    traceparent);
  return v_id;
end $$;
