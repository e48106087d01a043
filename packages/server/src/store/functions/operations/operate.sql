-- Operations: one row each, worked on a batch at a time by the node that took it up last. Every step names the fence of that
-- taking-up and stores how far it has come in the transaction that did the work: a node that dies in the middle has done
-- the whole batch or nothing of it, and one that wakes too late writes nothing.

-- Creates the row, and the audit's entry of who asked. False: the request was answered before.
create or replace function carillon.create_operation(p_operation jsonb, p_entry jsonb, p_now timestamptz default null)
returns boolean
language plpgsql volatile
as $$
begin
  if not carillon.claim_answer(p_entry, p_now) then
    return false;
  end if;
  insert into carillon.operations (operation_id, tenant, kind, params, total, rate_per_sec, next_at, created_by, created_at)
  select o.id, o.tenant, o.kind, o.params, o.total, o.rate, carillon.at(o.at), o.actor, carillon.at(o.at)
  from jsonb_to_record(p_operation)
    o(id uuid, tenant text, kind text, params jsonb, total bigint, rate float8, actor text, at bigint);
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  select carillon.at(o.at), o.tenant, o.actor, 'operation.created', o.id::text,
    jsonb_build_object('kind', o.kind, 'params', o.params)
  from jsonb_to_record(p_operation) o(id uuid, tenant text, kind text, params jsonb, actor text, at bigint);
  return true;
end $$;

-- Takes up the operation of a kind that the node knows which has waited longest, for as long as the lease: if nothing is heard of
-- it, another node may. Locks: operations (SKIP LOCKED). Index: operations_next.
create or replace function carillon.take_known_operation(p_kinds text[], p_lease_ms int, p_now timestamptz default null)
returns setof carillon.operations
language sql volatile
as $$
  update carillon.operations o
  set fence = o.fence + 1, next_at = coalesce(p_now, clock_timestamp()) + p_lease_ms * interval '1 millisecond'
  where o.operation_id = (
    select n.operation_id from carillon.operations n
    where n.state = 'RUNNING' and n.next_at <= coalesce(p_now, clock_timestamp()) and n.kind = any (p_kinds)
    order by n.next_at limit 1 for update skip locked)
  returning o.*
$$;

-- For nodes of before 0017_copies.sql, to which every other kind is a RETRY.
create or replace function carillon.take_operation(p_lease_ms int, p_now timestamptz default null)
returns setof carillon.operations
language sql volatile
as $$
  select * from carillon.take_known_operation('{CANCEL,RETRY,PURGE,BACKFILL}', p_lease_ms, p_now)
$$;

-- True: the operation is still ours, and locked.
create or replace function carillon.hold_operation(p_id uuid, p_fence bigint) returns boolean
language plpgsql volatile
as $$
begin
  perform from carillon.operations o where o.operation_id = p_id and o.fence = p_fence and o.state = 'RUNNING' for update;
  return found;
end $$;

-- How far it has come. p_over: nothing is left but what is open.
create or replace function carillon.move_operation(
  p_id uuid, p_position text, p_done bigint, p_skipped bigint, p_open uuid[], p_over boolean, p_delay_ms float8,
  p_now timestamptz) returns void
language sql volatile
as $$
  update carillon.operations o
  set position = coalesce(p_position, o.position), done = o.done + p_done, skipped = o.skipped + p_skipped, open = p_open,
    updated_at = p_now, next_at = p_now + p_delay_ms * interval '1 millisecond',
    state = case when p_over and p_open = '{}' then 'SUCCEEDED' else o.state end,
    finished_at = case when p_over and p_open = '{}' then p_now end
  where o.operation_id = p_id
$$;

-- One step of a CANCEL. p_what: ANY; PENDING leaves alone what has begun meanwhile, RUNNING what has not. Answers what
-- was told to stop. What a concurrent end has locked stays open.
-- Locks: operations, then as CANCEL.
create or replace function carillon.operate_cancel(
  p_id uuid, p_fence bigint, p_ids uuid[], p_position text, p_over boolean, p_delay_ms float8, p_what text, p_actor text,
  p_now timestamptz default null)
returns table (execution_id uuid, worker_id uuid, fence bigint)
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_done uuid[] := '{}';
  v_open uuid[];
begin
  if not carillon.hold_operation(p_id, p_fence) then
    return;
  end if;
  if p_what <> 'PENDING' then
    for execution_id, worker_id, fence in select f.* from carillon.flag_running(p_ids, 'CANCELLED', p_actor, v_now) f loop
      v_done := v_done || execution_id;
      return next;
    end loop;
  end if;
  if p_what <> 'RUNNING' then
    v_done := v_done || carillon.end_pending(p_ids, array_fill('CANCELLED'::text, array[cardinality(p_ids)]),
      array_fill('CANCELLED'::text, array[cardinality(p_ids)]), p_actor, v_now);
  end if;
  -- Neither told nor ended, and not over either: it moved on while we looked, or a report is ending it.
  v_open := array(
    select i from unnest(p_ids) i join carillon.executions e on e.execution_id = i
    where p_what = 'ANY' and e.state is null and i <> all (v_done));
  perform carillon.move_operation(p_id, p_position, cardinality(v_done),
    cardinality(p_ids) - cardinality(v_done) - cardinality(v_open), v_open, p_over, p_delay_ms, v_now);
end $$;

-- One step of a RETRY, which replays. Returns how many were replayed. Locks: operations, then as REPLAY.
create or replace function carillon.operate_retry(
  p_id uuid, p_fence bigint, p_ids uuid[], p_position text, p_over boolean, p_delay_ms float8, p_actor text,
  p_now timestamptz default null) returns bigint
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_done bigint;
begin
  if not carillon.hold_operation(p_id, p_fence) then
    return 0;
  end if;
  select count(*) into v_done from carillon.replay(p_ids, p_actor, v_now) r where r.verdict = 'REPLAYED';
  perform carillon.move_operation(
    p_id, p_position, v_done, cardinality(p_ids) - v_done, '{}', p_over, p_delay_ms, v_now);
  return v_done;
end $$;

-- One step of a PURGE: dead letters leave the list, their executions stay DEAD. Locks: operations, endings by id.
create or replace function carillon.operate_purge(
  p_id uuid, p_fence bigint, p_ids uuid[], p_position text, p_over boolean, p_delay_ms float8,
  p_now timestamptz default null) returns bigint
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_done bigint;
begin
  if not carillon.hold_operation(p_id, p_fence) then
    return 0;
  end if;
  perform from unnest(p_ids) i(execution_id) join carillon.endings n on n.execution_id = i.execution_id
  order by n.execution_id for update of n;
  with gone as (
    delete from carillon.endings n using unnest(p_ids) i(execution_id)
    where n.execution_id = i.execution_id and n.state = 'DEAD' returning 1)
  select count(*) into v_done from gone;
  perform carillon.move_operation(
    p_id, p_position, v_done, cardinality(p_ids) - v_done, '{}', p_over, p_delay_ms, v_now);
  return v_done;
end $$;

-- A step over what cannot be dealt with: it counts as left alone. p_ids stay open. Locks: operations.
create or replace function carillon.operate_over(
  p_id uuid, p_fence bigint, p_ids uuid[], p_position text, p_over boolean, p_delay_ms float8, p_passed bigint,
  p_now timestamptz default null) returns void
language plpgsql volatile
as $$
begin
  if carillon.hold_operation(p_id, p_fence) then
    perform carillon.move_operation(p_id, p_position, 0, p_passed, p_ids, p_over, p_delay_ms, coalesce(p_now, clock_timestamp()));
  end if;
end $$;
