-- SUBMIT of one execution that a worker waits for, and LEASE of one for that worker, in one transaction: what is submitted to an
-- idle installation is written once and waited for once. LEASE takes the smallest tag, which may be another's; then this one
-- stays ready. e_*: its Idempotency-Key, see claim_answers; empty if it has none. Answers whether its request was answered before,
-- its tag, and what was leased.
-- The tag is reserved here, not before: its flow stays locked until the commit, which delays no one while there is little to do.
-- Locks: idempotency, flows, its own rows, then as LEASE.
-- [m] Idle pick-up over HTTP, p50: 3.7 and 4.3 ms instead of 5.8 and 6.3 (docs/decisions/0023-handed-over.md).
create or replace function carillon.submit_and_lease(
  e_tenants text[], e_routes text[], e_keys text[], e_hashes bytea[], e_answers text[],
  p_ids uuid[], p_tenants text[], p_names text[], p_pools text[], p_lanes smallint[], p_handlers text[], p_costs bigint[],
  p_runs_at bigint[], p_payloads text[], p_policies jsonb[], p_labels jsonb[], p_traceparents text[], p_bodies text[],
  p_virtual_time bigint, p_from bigint[], p_since int[], p_turn int, p_workers uuid[], p_prefetched boolean[],
  p_groups int[], p_places int[], p_now timestamptz)
returns table (answered boolean, tag bigint, worker_id uuid, lane smallint, leased int, reached bigint, executions text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_tag bigint;
begin
  if cardinality(e_keys) > 0 then
    if carillon.claim_answers(e_tenants, e_routes, e_keys, e_hashes, e_answers, p_now) <> '{}' then
      return query select true, null::bigint, null::uuid, null::smallint, null::int, null::bigint, null::text;
      return;
    end if;
  end if;
  insert into carillon.flows as f (pool, lane, tenant, finish)
  values (p_pools[1], p_lanes[1], p_tenants[1], p_virtual_time + p_costs[1])
  on conflict (pool, lane, tenant) do update set finish = greatest(f.finish, p_virtual_time) + p_costs[1]
  returning f.finish - p_costs[1] into v_tag;
  perform carillon.submit(p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, array[v_tag], p_runs_at, p_payloads,
    p_policies, p_labels, p_traceparents, p_bodies, p_now);
  p_from[p_lanes[1] + 1] := least(p_from[p_lanes[1] + 1], v_tag);
  return query select false, v_tag, l.worker_id, l.lane, l.leased, l.reached, l.executions
  from (values (1)) one left join carillon.lease_ready(p_pools[1], p_from, p_since, p_turn, p_workers, p_prefetched, p_groups,
    p_places, p_now) l on true;
end $$;
