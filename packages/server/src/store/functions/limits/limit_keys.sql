-- The keys of the limits that count an execution, each once; null: it has none. Of limits by key, a tenant's own comes before one of the
-- installation that has its name. p_rules: its policy, whose limitKeys are "name" or "name:what".
create or replace function carillon.limit_keys_of(p_tenant text, p_pool text, p_handler text, p_job uuid, p_rules jsonb) returns text[]
  language sql stable
  return (
    select array_agg(k.key) from (
      select concat('limit:', l.limit_id, ':', w.what) collate "C" key
      from carillon.limits l
      cross join lateral (
        select case l.scope when 'TENANT' then p_tenant when 'POOL' then p_pool when 'HANDLER' then p_handler when 'JOB' then p_job::text end what) w
      where (l.tenant = p_tenant or l.tenant is null) and l.scope <> 'KEY' and (l.subject is null or l.subject = w.what)
      union
      select 'limit:' || coalesce(
        (select l.limit_id from carillon.limits l where l.tenant = p_tenant and l.name = split_part(n.name, ':', 1) and l.scope = 'KEY'),
        (select l.limit_id from carillon.limits l where l.tenant is null and l.name = split_part(n.name, ':', 1) and l.scope = 'KEY'))
        || ':' || substr(n.name, strpos(n.name || ':', ':') + 1)
      from jsonb_array_elements_text(case jsonb_typeof(p_rules -> 'limitKeys') when 'array' then p_rules -> 'limitKeys' else '[]' end) n(name)
      order by 1) k
    where k.key is not null having count(*) > 0);

-- Those of these that are to become ready and have limits get the first of their keys to wait for, and their tenant.
-- p_returning: the ledger has them, and of each only id, place and rules are given.
create or replace function carillon.with_limits(p_births carillon.birth[], p_returning boolean) returns carillon.birth[]
language plpgsql stable
as $$
declare
  v_keys text[];
  v_tenants text[];
  v_birth carillon.birth;
begin
  if p_returning then
    select array_agg((carillon.limit_keys_of(e.tenant, e.pool, e.handler, e.job_id, b.rules))[1] order by b.number),
      array_agg(e.tenant order by b.number)
    into v_keys, v_tenants
    from (select u.id, u.rules, u.number from unnest(p_births) with ordinality
      u(id, job_id, job_version, tenant, name, pool, lane, handler, tag, guarded, scheduled_for, due_at, expires_at, deadline_at, payload, policy,
        labels, traceparent, state, reason, skipped_last, skipped_count, history, key, rules, body, number)) b
    left join lateral (select * from carillon.executions x where x.execution_id = b.id offset 0) e on true;
  else
    v_keys := array(
      select case when b.key is null and b.state is null then
        (carillon.limit_keys_of(b.tenant, b.pool, b.handler, b.job_id, b.rules))[1] end from unnest(p_births) b);
  end if;
  for v_at in 1..cardinality(v_keys) loop
    if v_keys[v_at] is not null then
      v_birth := p_births[v_at];
      v_birth.key := v_keys[v_at];
      v_birth.tenant := coalesce(v_birth.tenant, v_tenants[v_at]);
      p_births[v_at] := v_birth;
    end if;
  end loop;
  return p_births;
end $$;
