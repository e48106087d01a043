-- Puts refusals into the audit: the first five of an actor in a minute, of the first ten actors of a tenant. The rest is counted, and
-- summed up by carillon.sum_up_refusals: a caller that repeats a mistake, under however many names, cannot fill the disk.
-- [m] 10,000 refused reports of one token: 5 rows and a sum.
-- Locks: audit_counts by key.
create or replace function carillon.note_refusals(
  p_action text, p_tenants text[], p_actors text[], p_subjects text[], p_details jsonb[], p_now timestamptz)
returns void
language plpgsql volatile
as $$
declare
  v_minute timestamptz := date_trunc('minute', p_now, 'UTC');
  v_group record;
  v_actor text;
  v_count bigint;
begin
  for v_group in
    select i.tenant, coalesce(i.tenant, '') tenant_key, i.actor, count(*) n
    from unnest(p_tenants, p_actors) i(tenant, actor) group by i.tenant, i.actor
    order by coalesce(i.tenant, '') collate "C", i.actor collate "C"
  loop
    v_actor := v_group.actor;
    if (select count(*) >= 10 and not bool_or(c.actor = v_actor) from carillon.audit_counts c
        where c.minute = v_minute and c.tenant = v_group.tenant_key and c.action = p_action and c.actor <> '') then
      v_actor := '';
    end if;
    insert into carillon.audit_counts as c (minute, tenant, action, actor, count)
    values (v_minute, v_group.tenant_key, p_action, v_actor, v_group.n)
    on conflict (minute, tenant, action, actor) do update set count = c.count + excluded.count
    returning c.count - v_group.n into v_count;
    if v_actor <> '' and v_count < 5 then
      insert into carillon.audit (at, tenant, actor, action, subject, detail)
      select p_now, i.tenant, i.actor, p_action, i.subject, i.detail
      from unnest(p_tenants, p_actors, p_subjects, p_details) with ordinality i(tenant, actor, subject, detail, number)
      where i.tenant is not distinct from v_group.tenant and i.actor = v_group.actor
      order by i.number limit 5 - v_count;
    end if;
  end loop;
end $$;

-- Sums up the minutes that are over, each tenant and action in one row, where not every refusal has a row of its own.
create or replace function carillon.sum_up_refusals(p_now timestamptz default null) returns void
language plpgsql volatile
as $$
begin
  with over as (
    delete from carillon.audit_counts c
    where c.minute < date_trunc('minute', coalesce(p_now, clock_timestamp()), 'UTC') returning c.*
  ), sums as (
    select o.minute, o.tenant, o.action, sum(o.count) refused, count(*) filter (where o.actor <> '') actors,
      coalesce(sum(least(o.count, 5)) filter (where o.actor <> ''), 0) recorded
    from over o group by o.minute, o.tenant, o.action)
  insert into carillon.audit (at, tenant, actor, action, detail)
  select coalesce(p_now, clock_timestamp()), nullif(s.tenant, ''), 'carillon', s.action || '.sum', jsonb_build_object(
    'minute', to_char(s.minute at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'), 'refused', s.refused, 'recorded', s.recorded,
    'actors', s.actors)
  from sums s where s.refused > s.recorded order by s.minute, s.tenant, s.action;
end $$;

-- How long the audit is kept, in days; null: for good. For the owner of the schema, and on record.
create or replace function carillon.set_audit_retention(days int) returns void
language plpgsql volatile
as $$
#variable_conflict use_variable
begin
  update carillon.installation n set audit_retention_days = days where n.audit_retention_days is distinct from days;
  if found then
    insert into carillon.audit (actor, action, detail)
    values (session_user, 'audit.retention_set', jsonb_build_object('days', days));
  end if;
end $$;

-- Removes rows older than the retention, oldest first, at most p_limit; answers how many. SECURITY DEFINER, for nodes: they may only add
-- to the audit. A trigger refuses to delete younger rows, for every role. Subscriptions that do not have them get a gap. Index: audit_pkey.
create or replace function carillon.prune_audit(p_limit int) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids bigint[];
begin
  with oldest as (
    select a.audit_id, a.at from carillon.audit a order by a.audit_id limit p_limit
  ), gone as (
    delete from carillon.audit a using oldest o, carillon.installation n
    where a.audit_id = o.audit_id and o.at < clock_timestamp() - n.audit_retention_days * interval '1 day' returning a.audit_id)
  select array_agg(g.audit_id) into v_ids from gone g;
  if v_ids is null then
    return 0;
  end if;
  perform carillon.record_gaps('AUDIT', (select max(i) from unnest(v_ids) i), v_ids);
  return cardinality(v_ids);
end $$;
