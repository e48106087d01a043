-- How a limit is told in the audit.
create or replace function carillon.told_limit(p_limit carillon.limits) returns jsonb
language plpgsql stable
as $$
begin
  return jsonb_build_object(
    'for', p_limit.scope,
    'of', case p_limit.scope when 'POOL' then carillon.pool_name(p_limit.subject) else p_limit.subject end,
    'concurrency', p_limit.concurrency,
    'rate', case when p_limit.rate_count is not null then
      jsonb_build_object('count', p_limit.rate_count, 'perSec', p_limit.rate_sec) end,
    'description', p_limit.description);
end $$;

-- The keys of a limit that executions wait for, in order, after p_after. Index: waiting_turns, one entry for each key.
create or replace function carillon.waiting_keys(p_limit_id int, p_after text, p_most int) returns setof text
language sql stable
as $$
  with recursive bounds as (
    -- ';' is the character after ':'.
    select format('limit:%s:', p_limit_id) collate "C" low, format('limit:%s;', p_limit_id) collate "C" high
  ), keys (key) as (
    select (select min(w.key) from carillon.waiting w
            where w.tenant is not null and w.key >= b.low and w.key > coalesce(p_after, '') and w.key < b.high)
    from bounds b
    union all
    select (select min(w.key) from carillon.waiting w where w.tenant is not null and w.key > k.key and w.key < b.high)
    from keys k cross join bounds b where k.key is not null
  )
  select k.key from keys k where k.key is not null limit p_most
$$;

-- Has ADMIT look at all that waits for a limit or has slots of it, because something else is true of it.
create or replace function carillon.look_at_limit(p_limit_id int) returns void
language sql volatile
as $$
  insert into carillon.limit_changes (key, freed)
  select k, 0 from carillon.waiting_keys(p_limit_id, null, null) k
  union
  select k.key, 0 from carillon.limit_keys k
  where k.key >= format('limit:%s:', p_limit_id) collate "C" and k.key < format('limit:%s;', p_limit_id) collate "C" and k.taken > 0
$$;

-- Declares a limit, or changes it. Answers CREATED, UPDATED or UNCHANGED and the limit as it is now; or MISMATCH if a version was asked for
-- and there is another one, or none.
-- Locks: the limit's row.
create or replace function carillon.put_limit(
  p_tenant text, p_name text, p_scope text, p_subject text, p_concurrency int, p_rate_count int, p_rate_sec int, p_description text,
  p_version int, p_actor text, p_now timestamptz default null)
returns table (verdict text, made carillon.limits)
language plpgsql volatile
as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_old carillon.limits;
  v_new carillon.limits;
begin
  select * into v_old from carillon.limits l where l.tenant is not distinct from p_tenant and l.name = p_name for update;
  if not found and p_version is null then
    insert into carillon.limits (tenant, name, scope, subject, concurrency, rate_count, rate_sec, description, created_at, updated_at)
    values (p_tenant, p_name, p_scope, p_subject, p_concurrency, p_rate_count, p_rate_sec, p_description, v_now, v_now)
    on conflict do nothing returning * into v_new;
    if found then
      insert into carillon.audit (at, tenant, actor, action, subject, detail)
      values (v_now, p_tenant, p_actor, 'limit.created', p_name, carillon.told_limit(v_new));
      return query select 'CREATED', v_new;
      return;
    end if;
    -- A concurrent call has declared it since.
    select * into v_old from carillon.limits l where l.tenant is not distinct from p_tenant and l.name = p_name for update;
  end if;
  if p_version is not null and v_old.version is distinct from p_version then
    return query select 'MISMATCH', v_old;
  elsif (v_old.scope, v_old.subject, v_old.concurrency, v_old.rate_count, v_old.rate_sec, v_old.description)
      is not distinct from (p_scope, p_subject, p_concurrency, p_rate_count, p_rate_sec, p_description) then
    return query select 'UNCHANGED', v_old;
  else
    update carillon.limits l
    set scope = p_scope, subject = p_subject, concurrency = p_concurrency, rate_count = p_rate_count, rate_sec = p_rate_sec,
      description = p_description, version = l.version + 1, updated_at = v_now
    where l.limit_id = v_old.limit_id returning * into v_new;
    perform carillon.look_at_limit(v_new.limit_id);
    insert into carillon.audit (at, tenant, actor, action, subject, detail)
    values (v_now, p_tenant, p_actor, 'limit.updated', p_name,
      carillon.told_limit(v_new) || jsonb_build_object('before', carillon.told_limit(v_old)));
    return query select 'UPDATED', v_new;
  end if;
end $$;

-- Deletes a limit; what waits for it is admitted. Answers DELETED, UNKNOWN or MISMATCH, and its version.
-- Locks: the limit's row.
create or replace function carillon.delete_limit(
  p_tenant text, p_name text, p_version int, p_actor text, p_now timestamptz default null)
returns table (verdict text, version int)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
  v_limit carillon.limits;
begin
  select * into v_limit from carillon.limits l where l.tenant is not distinct from p_tenant and l.name = p_name for update;
  if not found then
    return query select 'UNKNOWN', null::int;
    return;
  elsif p_version is not null and v_limit.version <> p_version then
    return query select 'MISMATCH', v_limit.version;
    return;
  end if;
  perform carillon.look_at_limit(v_limit.limit_id);
  delete from carillon.limits l where l.limit_id = v_limit.limit_id;
  insert into carillon.audit (at, tenant, actor, action, subject, detail)
  values (coalesce(p_now, clock_timestamp()), p_tenant, p_actor, 'limit.deleted', p_name,
    jsonb_build_object('before', carillon.told_limit(v_limit)));
  return query select 'DELETED', v_limit.version;
end $$;

-- How much of a limit is used: of the keys that most waits for, then of those of which most is taken. Looks at up to 200 keys that something
-- waits for, 1,000 entries of each, and at up to 10,000 keys of which something is taken.
-- Indexes: waiting_turns, limit_keys_pkey, limit_changes_key.
create or replace function carillon.limit_usage(p_limit_id int, p_most int)
returns table (key text, taken bigint, waiting bigint)
language sql stable
as $$
  with bounds as (
    select format('limit:%s:', p_limit_id) collate "C" low, format('limit:%s;', p_limit_id) collate "C" high
  ), waited as (
    select w.key collate "C" key, (
      select count(*) from (select from carillon.waiting e where e.tenant is not null and e.key = w.key limit 1000) e) waiting
    from carillon.waiting_keys(p_limit_id, null, 200) w (key)
  ), taken as (
    select k.key, k.taken - coalesce((select sum(c.freed) from carillon.limit_changes c where c.key = k.key), 0) taken
    from (select k.key, k.taken from carillon.limit_keys k cross join bounds b
          where k.key >= b.low and k.key < b.high order by k.key limit 10000) k
  ), named as (
    select key from waited union select t.key from taken t where t.taken > 0
  )
  select substr(n.key, length(b.low) + 1),
    greatest(coalesce(t.taken, (select k.taken - coalesce((select sum(c.freed) from carillon.limit_changes c where c.key = n.key), 0)
      from carillon.limit_keys k where k.key = n.key), 0), 0)::bigint taken,
    coalesce(w.waiting, 0) waiting
  from named n cross join bounds b left join waited w on w.key = n.key left join taken t on t.key = n.key
  order by waiting desc, taken desc, n.key limit p_most
$$;
