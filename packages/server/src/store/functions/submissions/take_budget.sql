-- Takes from what a tenant may submit per second. Its budget grows with time, up to a quarter of a second's worth. While there is any, p_first
-- items are granted whole, so that a batch is not refused for its size; what they exceed the budget by has to grow again. Beyond those, up
-- to p_more are granted if they are there. Null: the tenant has no such quota. wait_ms: until there will be something.
-- Locks: the tenant's row in submission_budgets, for this statement only. Indexes: tenants_pkey, submission_budgets_pkey.
create or replace function carillon.take_budget(p_tenant text, p_first int, p_more int, p_now timestamptz default null)
returns table (granted int, wait_ms int)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_rate int := (select t.submissions_per_sec from carillon.tenants t where t.name = p_tenant);
  v_most double precision := greatest(1, v_rate / 4.0);
  v_row carillon.submission_budgets;
  v_now timestamptz;
  v_budget double precision;
  v_granted int := 0;
begin
  if v_rate is null then
    return query select null::int, null::int;
    return;
  end if;
  insert into carillon.submission_budgets (tenant, budget, at)
  values (p_tenant, v_most, coalesce(p_now, clock_timestamp())) on conflict do nothing;
  select * into v_row from carillon.submission_budgets b where b.tenant = p_tenant for update;
  v_now := coalesce(p_now, clock_timestamp());
  v_budget := least(v_most, v_row.budget + v_rate * greatest(0, extract(epoch from v_now - v_row.at)::double precision));
  -- A sum of fractions may fall short of 1 by the last digit.
  if v_budget >= 1 - 1e-6 then
    v_granted := p_first + greatest(0, least(p_more, floor(v_budget + 1e-6)::int - p_first));
    v_budget := v_budget - v_granted;
  end if;
  update carillon.submission_budgets b set budget = v_budget, at = greatest(v_now, v_row.at) where b.tenant = p_tenant;
  return query select v_granted, greatest(0, ceil((1 - v_budget) / v_rate * 1000))::int;
end $$;
