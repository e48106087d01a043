-- Enqueues in the caller's own transaction, from any language: the execution exists if and only if that transaction
-- commits. One row, no shared lock: a caller whose transaction stays open delays no one. The shard's leader fires it afterwards.
--
--   select carillon.enqueue('send-email', '{"to": "a@b.c"}');
--   select carillon.enqueue('send-email', json_build_object('to', email), run_at => now() + interval '1 hour') from …;
--   select carillon.enqueue('send-email', to_jsonb(u)::json, priority => 'HIGH') from users u;
--
--   select carillon.enqueue('rebuild', dedupe => '{"key": "index:42", "onDuplicate": "DEBOUNCE"}', run_at => now() + '5 s');
--
-- `policy` takes timeoutSec, retryPolicy, deadlineSec, startWithinSec, heartbeatTimeoutSec, delivery, cancelGraceSec, limits.
-- Everything is checked here, in front of the caller: what is stored must fire.
--
-- With `dedupe` the row goes to dedupe_requests instead. Which execution holds the key is decided after the commit, in the order of the
-- calls, because a caller that held the lock of a key would hold up all others that use it: carillon.enqueued returns the verdict.
--
-- While its tenant has as many jobs at rest as it may (maxJobs), nothing is enqueued for later: CA002. That is looked at without a lock, so
-- that no caller waits; what is enqueued here is not counted itself. Rates are not looked at: a shared count would be a shared lock.
--
-- SECURITY DEFINER: a role with EXECUTE on it and the tenant in sql_tenants needs no right on any table.
-- [m] In turns on a busy machine, best of 25 x 2,000 calls: 245 µs a call without these checks, 282 with them, 342 for a role that is
-- not the owner; an array of 100 objects, whose levels are counted, 361 and 1,182.
create or replace function carillon.enqueue(
  handler text, payload json default null, pool text default 'default', tenant text default 'default',
  priority text default 'NORMAL', run_at timestamptz default null, policy jsonb default null,
  labels jsonb default null, traceparent text default null, name text default null, dedupe jsonb default null)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
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
  -- The tenant's own, else the installation's.
  v_pool text := coalesce(
    (select p.pool from carillon.pools p where p.tenant = enqueue.tenant and p.name = enqueue.pool),
    (select p.pool from carillon.pools p where p.tenant is null and p.name = enqueue.pool));
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
  elsif carillon.is_nested_too_deep(payload::text) then
    raise exception 'carillon.enqueue: the payload is nested more than 96 deep' using errcode = '22023',
      hint = 'Flatten it, or store the data elsewhere and pass a reference to it.';
  elsif not carillon.may_act_for(tenant) then
    raise exception 'carillon.enqueue: role % may not enqueue for tenant %',
      coalesce(nullif(current_setting('role'), 'none'), session_user), tenant using errcode = '42501',
      hint = 'The owner of the schema allows it: select carillon.allow_tenant(role, tenant).';
  elsif v_at >= timestamptz '10000-01-01 00:00:00+00' then
    raise exception 'carillon.enqueue: run_at must be before the year 10000' using errcode = '22023',
      hint = 'Use an earlier time.';
  elsif v_pool is null then
    raise exception 'carillon.enqueue: pool % does not exist', coalesce(pool, 'null') using errcode = '22023',
      hint = 'Start a worker that serves it, or use the pool default.';
  elsif jsonb_typeof(labels) <> 'object' or labels @? 'strict $.* ? (@.type() != "string")' then
    raise exception 'carillon.enqueue: labels must be a JSON object of texts' using errcode = '22023',
      hint = 'Such as {"customer": "42"}.';
  elsif (select count(*) > 16 or bool_or(length(l.key) not between 1 and 63 or length(l.value) not between 1 and 255
      or l.key ~ v_control or l.value ~ v_control) from jsonb_each_text(labels) l) then
    raise exception 'carillon.enqueue: labels are too many, too long or have control characters' using errcode = '22023',
      hint = 'At most 16; names have 1 to 63 characters, texts 1 to 255.';
  elsif v_at > v_now and carillon.has_all_its_jobs(tenant) then
    raise exception 'carillon.enqueue: the tenant % has all the jobs that it may', tenant using errcode = 'CA002',
      hint = 'Delete jobs that are not needed, or have the operator raise maxJobs. What is due now is not affected.',
      detail = jsonb_build_object('quota', 'maxJobs', 'limit', (select t.max_jobs from carillon.tenants t where t.name = tenant))::text;
  end if;
  if policy is not null then
    perform carillon.check_policy(policy);
    if policy ? 'limits' then
      policy := policy || jsonb_build_object('limitKeys', carillon.resolve_limits(tenant, policy -> 'limits', payload));
    end if;
  end if;
  v_id := (lpad(to_hex(carillon.ms(v_at)), 12, '0') || '8' || substr(v_random, 14, 19))::uuid;
  if dedupe is not null then
    perform carillon.check_dedupe(dedupe);
    insert into carillon.dedupe_requests (request_id, tenant, name, pool, lane, handler, run_at, payload, policy, labels,
      traceparent, dedupe)
    values (v_id, tenant, name, v_pool, v_lane, handler, v_at, payload::text, policy, labels, traceparent, dedupe);
    return v_id;
  end if;
  select n.shard_count into v_shards from carillon.installation n;
  insert into carillon.submissions (execution_id, shard, tenant, name, pool, lane, handler, run_at, payload, policy, labels,
    traceparent)
  values (v_id, carillon.shard_of(v_id, v_shards), tenant, name, v_pool, v_lane, handler, v_at, payload::text, policy, labels,
    traceparent);
  return v_id;
end $$;
comment on function carillon.enqueue(text, json, text, text, text, timestamptz, jsonb, jsonb, text, text, jsonb) is
'Enqueues an execution in the caller''s transaction and answers its id; it exists if and only if the transaction commits.
handler: the name a worker registered it with. payload: JSON of at most 256 KiB and 96 levels. pool, tenant: "default" unless given.
priority: CRITICAL, HIGH, NORMAL or LOW. run_at: null is now. policy: {"timeoutSec", "retryPolicy", "deadlineSec", "startWithinSec",
"heartbeatTimeoutSec", "delivery", "cancelGraceSec", "limits"}. labels: at most 16 texts. traceparent: W3C. name: shown to people.
dedupe: {"key", "while", "windowSec", "onDuplicate", "maxWaitSec"}, decided after the commit; see carillon.enqueued.
Raises 22023 for a wrong argument, 42501 if the role may not name the tenant (carillon.allow_tenant), CA002 if run_at is to come and
the tenant has all the jobs that it may.';

-- The verdict on an enqueue with a dedupe key. Nothing is answered before a node has decided, after a day, or to a role that may not
-- name the tenant.
create or replace function carillon.enqueued(id uuid) returns table (verdict text, execution_id uuid, error text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select q.verdict, q.execution_id, q.error from carillon.dedupe_requests q
  where q.request_id = id and q.settled_at is not null and carillon.may_act_for(q.tenant)
$$;
comment on function carillon.enqueued(uuid) is
'What came of carillon.enqueue with a dedupe: NEW, KEPT, REPLACED, DEBOUNCED or REFUSED (error says why), and the execution that stands.
No row: not decided yet, or decided more than a day ago.';
