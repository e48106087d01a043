-- Gives back what flows were charged for executions that wait for limits. True: there was something.
-- The disk is not waited for: what is lost costs its tenant a few places in the queue.
-- Locks: its own rows, flows by key.
create or replace function carillon.refund_flows() returns boolean
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  with gone as (
    delete from carillon.limit_refunds r returning r.pool, r.lane, r.tenant, r.count
  ), sums as (
    select g.pool, g.lane, g.tenant, sum(g.count) n from gone g group by 1, 2, 3
  ), held as materialized (
    select f.pool, f.lane, f.tenant, s.n * (select coalesce(max(round(65536.0 / t.weight)), 65536)::bigint from carillon.tenants t where t.name = s.tenant) charged
    from sums s
    join carillon.flows f on f.pool = s.pool and f.lane = s.lane and f.tenant = s.tenant
    order by f.pool, f.lane, f.tenant for update of f)
  update carillon.flows f set finish = greatest(f.finish - h.charged, 0)
  from held h where f.pool = h.pool and f.lane = h.lane and f.tenant = h.tenant;
  return found;
end $$;
