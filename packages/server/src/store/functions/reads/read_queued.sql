-- What is `running`, or `pending`, of all tenants in a range of ids, newest first: ids from the queues, of `running` with the fences under which
-- they are held, for select_executions to compare with the ledger. Null: more than p_most rows, which the caller must not sort for
-- each page; then it walks the ledger of the tenant, which is bounded too.
--
-- Why from the queues: of what is unfinished they hold every row and nothing else, and mostly they are short, while the ledger holds a day's
-- work of which nothing may be open. Why not always: neither `ready` nor `leases` is in the order of ids or knows tenants, so for one page
-- all of them must be read, be they a million of another tenant. A backlog that is the tenant's own is found in its ledger at once.
--
-- A queue may name what it does not hold any more (a place in a lease, until all of it has ended), and an execution twice (leased,
-- handed back, leased again: the larger fence counts); the ledger tells. All is one snapshot, the caller's, so nothing is missed on its way
-- from one table to another. An execution that is open and in no queue, which `verify` reports, is not found here unless it is in
-- quarantine: then it is `pending`, as it shows itself.
--
-- [m] Of the backend's CPU, with the looks into the ledger: under 1 ms for short queues, 70 to 80 for 20,000 rows of other tenants.
-- See docs/decisions/0058-lists-by-state.md.
-- Locks: none. Indexes: leases_pkey; ready_pkey, waiting_pkey, retries_pkey, quarantine_tenant, executions_pkey.
create or replace function carillon.read_queued(
  p_state text, p_tenant text, p_after uuid, p_before uuid, p_most bigint, out ids uuid[], out fences bigint[])
language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set work_mem = '16MB'
as $$
declare
  v_aside uuid[];
begin
  if p_state = 'running' then
    with held as materialized (
      select u.id, (l.lease_id << 10) + u.place - 1 fence
      from (select x.lease_id, x.ids from carillon.leases x order by x.lease_id limit p_most + 1) l
      cross join lateral unnest(l.ids) with ordinality u(id, place) limit p_most + 1)
    select coalesce(array_agg(h.id order by h.id desc), '{}'), array_agg(h.fence order by h.id desc) into ids, fences
    from (select c.id, max(c.fence) fence from held c where c.id > p_after and c.id < p_before group by c.id) h
    having (select count(*) from held) <= p_most;
    return;
  end if;
  v_aside := array(select q.execution_id from carillon.quarantine q where q.tenant = p_tenant
                   order by q.tenant, q.quarantine_id limit p_most / 20 + 1);
  if cardinality(v_aside) > p_most / 20 then
    return;
  end if;
  with queued as materialized (
    (select r.execution_id id, true wanted from carillon.ready r
     order by r.pool, r.lane, r.tag, r.execution_id limit p_most + 1)
    union all
    (select w.execution_id, true from carillon.waiting w where w.execution_id > p_after and w.execution_id < p_before
     order by w.execution_id limit p_most + 1)
    union all
    (select t.execution_id, t.tenant = p_tenant and t.state = 'PENDING' from carillon.retries t
     where t.execution_id > p_after and t.execution_id < p_before order by t.execution_id limit p_most + 1)
    union all
    -- What is in quarantine for another reason may run, or wait for a retry.
    select e.execution_id, carillon.lease_of(e.pool, e.lane, e.tag, e.execution_id, e.fence) is null
      and not exists (select from carillon.retries t where t.execution_id = e.execution_id)
    from unnest(v_aside) i(id) join carillon.executions e on e.execution_id = i.id
    where e.state is null
    limit p_most + 1)
  select array(select distinct c.id from queued c where c.wanted and c.id > p_after and c.id < p_before order by c.id desc)
  into ids where (select count(*) from queued) <= p_most;
end $$;
