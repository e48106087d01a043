-- SUBMIT for a batch in which some have an Idempotency-Key: those answered before are left out. e_*: the entries, see
-- claim_answers; e_numbers: which submission (counted from 1) each belongs to. Answers the numbers of those left out.
-- Locks: idempotency by key, then its own rows.
create or replace function carillon.submit_once(
  e_numbers int[], e_tenants text[], e_routes text[], e_keys text[], e_hashes bytea[], e_answers text[],
  p_ids uuid[], p_tenants text[], p_names text[], p_pools text[], p_lanes smallint[], p_handlers text[], p_tags bigint[],
  p_runs_at bigint[], p_payloads text[], p_policies jsonb[], p_labels jsonb[], p_traceparents text[], p_bodies text[],
  p_now timestamptz default null)
returns int[]
language plpgsql volatile
as $$
declare
  v_taken int[] := carillon.claim_answers(e_tenants, e_routes, e_keys, e_hashes, e_answers, p_now);
begin
  if v_taken <> '{}' then
    v_taken := array(select e_numbers[t] from unnest(v_taken) t);
    select array_agg(i.id), array_agg(i.tenant), array_agg(i.name), array_agg(i.pool), array_agg(i.lane),
      array_agg(i.handler), array_agg(i.tag), array_agg(i.run_at), array_agg(i.payload), array_agg(i.policy),
      array_agg(i.labels), array_agg(i.traceparent), array_agg(i.body)
    into p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, p_tags, p_runs_at, p_payloads, p_policies, p_labels,
      p_traceparents, p_bodies
    from unnest(p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, p_tags, p_runs_at, p_payloads, p_policies,
      p_labels, p_traceparents, p_bodies) with ordinality
      i(id, tenant, name, pool, lane, handler, tag, run_at, payload, policy, labels, traceparent, body, number)
    where i.number <> all (v_taken);
  end if;
  if cardinality(p_ids) > 0 then
    perform carillon.submit(p_ids, p_tenants, p_names, p_pools, p_lanes, p_handlers, p_tags, p_runs_at, p_payloads,
      p_policies, p_labels, p_traceparents, p_bodies, p_now);
  end if;
  return v_taken;
end $$;
